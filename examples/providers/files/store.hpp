// Store: what every part of the provider has and asks. Files hold everything that must survive; in
// memory there are leases, sessions and the threads that wait.
//
// The provider is built on it in layers, each one file to read: Turns, Commits, Activities,
// Looking, Deleting, and FilesProvider on top.

#pragma once

#include "directory.hpp"
#include "files_provider.hpp"
#include "records.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <vector>

namespace files_store {

struct Lease {
    std::string token;
    SteadyInstant until;
    bool lone_suspect = false;      // P16: other suspects wait for its end
    std::vector<std::string> files; // that the owner was given
    std::uint64_t incarnation = 0;
};

struct Session {
    std::string owner;
    SteadyInstant until;
    SteadyInstant active;
};

// The messages of one instance, by number.
struct Inbox {
    std::vector<Queued> due;
    std::vector<Queued> later;

    [[nodiscard]] const Queued* first_start() const; // StartOrchestration, due or not
    [[nodiscard]] std::uint64_t incarnation() const; // of the instance that it will start; or 0
    [[nodiscard]] bool has_start() const { return std::ranges::any_of(due, &Queued::starts); }
    [[nodiscard]] std::uint32_t attempts() const;
};

using Inboxes = std::map<std::string, Inbox>; // by instance

// The row of an instance with what the current execution says.
struct Row {
    std::optional<Meta> meta;
    std::optional<Execution> current; // nullopt: no commit has named it
    bool pending = false;             // P15: there is neither a commit nor history

    [[nodiscard]] std::string status() const; // "Unknown": there is no record
    [[nodiscard]] bool is(ExecutionStatus status) const;
    [[nodiscard]] bool ended() const {
        return is(ExecutionStatus::completed) || is(ExecutionStatus::failed);
    }
    [[nodiscard]] std::optional<std::string> output() const {
        return current ? current->output : std::nullopt;
    }
    [[nodiscard]] std::optional<Parked> parked() const;
};

class Store {
 public:
    Store(const std::string& directory, Options options);

 protected:
    ~Store() = default; // first of all stops listening to the clock

    [[nodiscard]] Millis now() const { return clock_->now().time_since_epoch().count(); }
    [[nodiscard]] SteadyInstant steady() const { return clock_->steady(); }
    // Saturating: a delay of Duration::max() is for ever. Less than nothing is nothing.
    [[nodiscard]] Millis after(std::optional<Duration> delay) const;
    [[nodiscard]] SteadyInstant lease_end(Duration timeout) const {
        return add_saturating(steady(), timeout);
    }
    [[nodiscard]] bool live(const Lease& lease) const { return lease.until > steady(); }
    [[nodiscard]] static std::string new_token();

    // Runs a call alone, and turns what it throws into an error. `change` wakes the threads that
    // wait, because more than files may have changed: a lease is over, for example (P11).
    template <class Body>
    [[nodiscard]] auto look(const char* operation, Body body) -> Result<decltype(body())> {
        const std::scoped_lock lock{mutex_};
        return answer(operation, body);
    }
    template <class Body>
    [[nodiscard]] auto change(const char* operation, Body body) -> Result<decltype(body())> {
        const std::scoped_lock lock{mutex_};
        auto result = answer(operation, body);
        wake();
        return result;
    }
    // Tries until there is something, the time is over or the caller stops.
    template <class Try>
    [[nodiscard]] auto poll(const char* operation,
                            Duration timeout,
                            const std::stop_token& stop,
                            Try once,
                            std::optional<Duration> patience = {}) -> Result<decltype(once())>;

    // The whole queue, read anew. Messages that waited too long for their instance leave it (P10).
    [[nodiscard]] Inboxes inboxes();
    [[nodiscard]] Row row(const std::string& id) const;
    [[nodiscard]] std::optional<history::OrchestrationStarted>
    stored_start(const std::string& id) const;
    [[nodiscard]] bool suspect_under_way() const;
    void forget_leases_on(const Change& removed);           // activities that are gone
    [[nodiscard]] bool held(const std::string& file) const; // by a live lease
    // How soon a delay, a lease or a session is over, or patience with a cancellation (P14).
    [[nodiscard]] Duration until_next(std::optional<Duration> patience = {});

    std::mutex mutex_;
    std::shared_ptr<Clock> clock_;
    Options options_;
    Directory directory_;
    Records records_{directory_};
    std::map<std::string, Lease> turns_; // by instance; an expired one stays until it is replaced
    std::map<std::string, Lease> works_; // by file
    std::map<std::string, Session> sessions_;

 private:
    template <class Body>
    [[nodiscard]] static auto answer(const char* operation, Body& body)
        -> Result<decltype(body())> {
        try {
            if constexpr (std::is_void_v<decltype(body())>) {
                body();
                return {};
            } else {
                return body();
            }
        } catch (const Refusal& refusal) {
            return fail(refusal.code(), refusal.what(), operation);
        } catch (const std::invalid_argument& error) { // a payload that is not UTF-8
            return fail(ErrorCode::invalid_argument, error.what(), operation);
        } catch (const std::exception& error) { // the disk, or no memory
            return fail(ErrorCode::unavailable, error.what(), operation);
        }
    }
    void wake() {
        ++changes_;
        woken_.notify_all();
    }

    std::condition_variable_any woken_;
    std::uint64_t changes_ = 0;
    std::shared_ptr<void> jumps_; // of a clock that is moved by hand
};

template <class Try>
auto Store::poll(const char* operation,
                 Duration timeout,
                 const std::stop_token& stop,
                 Try once,
                 std::optional<Duration> patience) -> Result<decltype(once())> {
    std::unique_lock lock{mutex_};
    const auto deadline = add_saturating(steady(), timeout);
    for (;;) {
        auto found = answer(operation, once);
        const auto left = deadline - steady();
        if (!found || *found || left <= Duration::zero() || stop.stop_requested()) {
            return found;
        }
        // At most a second: the time of day may be set, and no thread is told.
        const auto most = clock_->real_time(std::min<Duration>(left, until_next(patience)));
        const auto sleep = std::min<Duration>(most, std::chrono::seconds{1});
        woken_.wait_for(lock, stop, sleep, [&, seen = changes_] { return changes_ != seen; });
    }
}

template <class Range, class T>
[[nodiscard]] bool contains(const Range& range, const T& value) {
    return std::ranges::find(range, value) != std::ranges::end(range);
}

} // namespace files_store
