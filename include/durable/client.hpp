// Client: starts orchestrations, sends them messages, and waits for their results. Needs a provider
// only: a program may be a client without running anything itself.
//
//     const durable::Client client{provider};
//     const auto run = client.start(hello, "world", {.id = "greeting-1"}).value();
//     std::cout << run.wait(10s).value();
//
// Sending is asynchronous: a call that succeeded means "stored", not "done". The store wakes
// waiting calls; they do not poll. Copies are cheap; any thread, any time.
//
// An id that no instance can have is invalid_argument everywhere: see "Names" in
// docs/architecture.md.

#pragma once

#include <durable/contract.hpp>
#include <durable/error_details.hpp>
#include <durable/orchestration_status.hpp>
#include <durable/payload.hpp>
#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace durable {

class Management; // management.hpp

namespace detail {

// "int", in the compiler's words: for messages that are not stored.
template <class T>
[[nodiscard]] constexpr std::string_view type_text() noexcept {
    std::string_view text = std::source_location::current().function_name();
    const auto begin = text.find("T = ");
    if (begin == std::string_view::npos) {
        return "the type asked for";
    }
    text.remove_prefix(begin + 4);
    return text.substr(0, std::min(text.find(';'), text.rfind(']')));
}

// Reads a stored payload as a T. A valid payload of another type is the caller's mistake:
// invalid_argument.
template <class T>
[[nodiscard]] Result<T> read_payload(std::string_view text, std::string_view what) {
    auto value = decode_payload<T>(text);
    if (!value) {
        return fail(ErrorCode::invalid_argument,
                    misfit(what, text) + std::string{type_text<T>()} + ": " +
                        value.error().message);
    }
    return *std::move(value);
}

// The user's own encoder may throw; the caller gets an Error like for every other bad input.
template <class T>
[[nodiscard]] Result<std::string>
write_payload(const T& value, std::string_view operation, std::string_view name) {
    return write_or(value, "the value", [&](std::string problem) -> Result<std::string> {
        return fail(ErrorCode::invalid_argument,
                    std::move(problem),
                    std::string{operation} + ' ' + std::string{name});
    });
}

[[nodiscard]] inline std::unexpected<Error> failed_run(const OrchestrationStatus& status,
                                                       const std::string& id) {
    Error error{.code = ErrorCode::orchestration_failed, .message = status.output, .operation = id};
    if (status.failure) {
        error.message = display_text(*status.failure);
        error.failure_kind = kind_of(*status.failure);
        error.activity = activity_of(*status.failure);
    }
    return std::unexpected{std::move(error)};
}

} // namespace detail

// What to do when the id is taken.
enum class Existing : std::uint8_t {
    refuse, // answer already_exists
    attach, // answer as if it had been started now
};

struct StartOptions {
    std::string id{};      // empty: a fresh UUID
    std::string version{}; // empty: the newest registered where it begins
    Existing existing = Existing::refuse;
    Timespan delay{}; // how long the start stays hidden; not negative
};

template <class R>
class Run;

class Client final { // NOLINT(cppcoreguidelines-special-member-functions)
 public:
    // Throws std::invalid_argument without a provider: a mistake in the program. The clock measures
    // the time limits of waiting calls; nullptr: the machine's.
    explicit Client(std::shared_ptr<Provider> provider, std::shared_ptr<Clock> clock = nullptr);
    // Moving is copying: there is no client without a provider.
    Client(const Client&) = default;
    Client& operator=(const Client&) = default;
    ~Client() = default;

    // Starts an instance: it exists, pending, when this returns. One id is one instance for ever:
    // while it exists, pending, running or ended, every further start changes nothing, whatever its
    // name, version or input (T-18). Of callers that start one id at the same time exactly one
    // succeeds, or, with Existing::attach, all of them, with handles of that one's instance.
    //   already_exists    there is such an instance, or a parent's start of it is queued
    //   invalid_argument  the id is not allowed, or the input has no payload text
    // After `unavailable` the start may have been stored or not: start again, with attach.
    template <class R, class In>
    [[nodiscard]] Result<Run<R>> start(const Orchestration<R(In)>& orchestration,
                                       const std::type_identity_t<In>& input,
                                       StartOptions options = {}) const;
    template <class R>
    [[nodiscard]] Result<Run<R>> start(const Orchestration<R()>& orchestration,
                                       StartOptions options = {}) const;
    [[nodiscard]] Result<Run<std::string>>
    start(std::string_view orchestration, std::string input, StartOptions options = {}) const;

    // A handle for an instance that was started elsewhere. Makes no call to the store.
    template <class R, class In>
    [[nodiscard]] Run<R> attach(const Orchestration<R(In)>& orchestration, std::string id) const;
    template <class R>
    [[nodiscard]] Run<R> attach(const Orchestration<R()>& orchestration, std::string id) const;

    // Sends an event to the wait for it. An event that is sent before the instance starts is kept
    // for a while (the store's unstarted_message_ttl).
    template <class T>
    [[nodiscard]] Result<> raise(const std::string& id,
                                 const Event<T>& event,
                                 const std::type_identity_t<T>& value) const {
        auto data = detail::write_payload(value, "raise", event.name());
        return data ? raise(id, event.name(), *std::move(data))
                    : Result<>{std::unexpected{std::move(data).error()}};
    }
    [[nodiscard]] Result<> raise(const std::string& id, const Event<>& event) const {
        return raise(id, event, Unit{});
    }
    [[nodiscard]] Result<>
    raise(const std::string& id, std::string_view event, std::string data) const;

    // Puts a message into a mailbox of the instance: first in, first out, kept until it is read.
    template <class T>
    [[nodiscard]] Result<> enqueue(const std::string& id,
                                   const Queue<T>& queue,
                                   const std::type_identity_t<T>& value) const {
        auto data = detail::write_payload(value, "enqueue", queue.name());
        return data ? enqueue(id, queue.name(), *std::move(data))
                    : Result<>{std::unexpected{std::move(data).error()}};
    }
    [[nodiscard]] Result<> enqueue(const std::string& id, const Queue<>& queue) const {
        return enqueue(id, queue, Unit{});
    }
    [[nodiscard]] Result<>
    enqueue(const std::string& id, std::string_view queue, std::string data) const;

    // Ends the instance, its activities and its children. Idempotent; the first reason stays. No
    // effect on an instance that has ended, nor on one that is started under its id later. May be
    // sent ahead of the first turn.
    //   not_found  there is no such instance, and no start of it is queued
    [[nodiscard]] Result<> cancel(const std::string& id, std::string reason) const;

    // An unknown id is RunStatus::not_found, not an error.
    [[nodiscard]] Result<OrchestrationStatus> status(const std::string& id) const;

    // Waits for the end, also of an instance that has not begun; timed_out otherwise. As for all
    // waits: a limit of zero looks once, a negative one is invalid_argument.
    [[nodiscard]] Result<OrchestrationStatus> wait(const std::string& id, Timespan limit) const;

    // Waits for a custom status newer than `seen_version`, or for the end.
    [[nodiscard]] Result<OrchestrationStatus>
    wait_for_status_change(const std::string& id, std::uint64_t seen_version, Timespan limit) const;

    // The instance's key-value store, changes of the running execution included.
    [[nodiscard]] Result<std::optional<std::string>> kv(const std::string& id,
                                                        const std::string& key) const;
    [[nodiscard]] Result<std::map<std::string, std::string>> kv_all(const std::string& id) const;
    // As a T. invalid_argument, with the text and the type, when the value is no T.
    template <class T>
    [[nodiscard]] Result<std::optional<T>> kv(const std::string& id, const std::string& key) const;

    // Waits until the key has a value. not_found when the instance ends without it.
    [[nodiscard]] Result<std::string>
    wait_for_kv(const std::string& id, const std::string& key, Timespan limit) const;
    template <class T>
    [[nodiscard]] Result<T>
    wait_for_kv(const std::string& id, const std::string& key, Timespan limit) const;

    [[nodiscard]] Result<std::optional<InstanceStats>> stats(const std::string& id) const;

    // The management half of the store; unsupported when it has none.
    [[nodiscard]] bool has_management() const noexcept;
    [[nodiscard]] Result<Management> management() const;

 private:
    [[nodiscard]] Result<std::string>
    send_start(std::string_view name, std::string input, StartOptions options) const;

    std::shared_ptr<Provider> provider_;
    std::shared_ptr<Clock> clock_;
};

// A started orchestration and the type of its result.
template <class R>
class Run final {
 public:
    Run(const Client& client, std::string id) : client_{client}, id_{std::move(id)} {}

    [[nodiscard]] const std::string& id() const noexcept { return id_; }

    // The result. orchestration_failed, with the failure's kind and text, when it failed; timed_out
    // when it has not ended yet; invalid_argument when the result is no R.
    [[nodiscard]] Result<R> wait(Timespan limit) const;
    [[nodiscard]] Result<OrchestrationStatus> status() const { return client_.status(id_); }
    [[nodiscard]] Result<> cancel(std::string reason) const {
        return client_.cancel(id_, std::move(reason));
    }

 private:
    Client client_;
    std::string id_;
};

// ---- Template bodies

template <class R, class In>
Result<Run<R>> Client::start(const Orchestration<R(In)>& orchestration,
                             const std::type_identity_t<In>& input,
                             StartOptions options) const {
    auto payload = detail::write_payload(input, "start", orchestration.name());
    if (!payload) {
        return std::unexpected{std::move(payload).error()};
    }
    auto id = send_start(orchestration.name(), *std::move(payload), std::move(options));
    if (!id) {
        return std::unexpected{std::move(id).error()};
    }
    return Run<R>{*this, *std::move(id)};
}

template <class R>
Result<Run<R>> Client::start(const Orchestration<R()>& orchestration, StartOptions options) const {
    auto id = send_start(orchestration.name(), to_payload(Unit{}), std::move(options));
    if (!id) {
        return std::unexpected{std::move(id).error()};
    }
    return Run<R>{*this, *std::move(id)};
}

template <class R, class In>
Run<R> Client::attach(const Orchestration<R(In)>&, std::string id) const {
    return Run<R>{*this, std::move(id)};
}

template <class R>
Run<R> Client::attach(const Orchestration<R()>&, std::string id) const {
    return Run<R>{*this, std::move(id)};
}

template <class T>
Result<std::optional<T>> Client::kv(const std::string& id, const std::string& key) const {
    static_assert(detail::check_payload<T>());
    auto text = kv(id, key);
    if (!text) {
        return std::unexpected{std::move(text).error()};
    }
    if (!text->has_value()) {
        return std::optional<T>{};
    }
    auto value = detail::read_payload<T>(**text, "KV '" + key + "' of " + id);
    if (!value) {
        return std::unexpected{std::move(value).error()};
    }
    return std::optional<T>{*std::move(value)};
}

template <class T>
Result<T> Client::wait_for_kv(const std::string& id, const std::string& key, Timespan limit) const {
    static_assert(detail::check_payload<T>());
    auto text = wait_for_kv(id, key, limit);
    if (!text) {
        return std::unexpected{std::move(text).error()};
    }
    return detail::read_payload<T>(*text, "KV '" + key + "' of " + id);
}

template <class R>
Result<R> Run<R>::wait(Timespan limit) const {
    auto status = client_.wait(id_, limit);
    if (!status) {
        return std::unexpected{std::move(status).error()};
    }
    if (status->status == RunStatus::failed) {
        return detail::failed_run(*status, id_);
    }
    if constexpr (std::is_void_v<R>) {
        return {};
    } else {
        return detail::read_payload<R>(status->output, "the result of " + id_);
    }
}

} // namespace durable
