#include "cli/bench/callers.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace durable::cli {

namespace {

using Span = std::chrono::nanoseconds;

class Callers {
 public:
    Callers(const Load& load, const std::function<Result<>()>& call, const Stopwatch& watch)
        : load_{load}, call_{call}, watch_{watch} {}

    Result<CallsMade> run(const Progress& progress) {
        {
            std::vector<std::jthread> threads;
            threads.reserve(load_.in_flight);
            while (threads.size() < load_.in_flight) {
                try {
                    threads.emplace_back([this] { work(); });
                } catch (const std::system_error& refused) {
                    stop({.code = ErrorCode::unavailable,
                          .message = "no thread for another caller: " + std::string{refused.what()},
                          .operation = {}});
                    break;
                }
            }
            wait(progress, threads.size());
        }
        const std::scoped_lock lock{mutex_};
        if (error_) {
            return std::unexpected{*std::move(error_)};
        }
        return std::move(made_);
    }

 private:
    void stop(Error error) {
        const std::scoped_lock lock{mutex_};
        if (!error_) {
            error_ = std::move(error);
        }
    }

    void wait(const Progress& progress, std::size_t callers) {
        constexpr auto now_and_then = std::chrono::milliseconds{200};
        std::unique_lock lock{mutex_};
        while (!changed_.wait_for(lock, now_and_then, [&] { return idle_ == callers; })) {
            const auto ended = ended_;
            lock.unlock();
            if (auto going = progress(ended); !going) {
                stop(std::move(going).error());
            }
            lock.lock();
        }
    }

    void work() {
        Latencies latencies;
        while (may_begin()) {
            const Stopwatch watch;
            if (auto done = call_(); !done) {
                stop(std::move(done).error());
                break;
            }
            latencies.add(watch.elapsed());
            note_end();
        }
        const std::scoped_lock lock{mutex_};
        made_.latencies.add(latencies);
        made_.count += latencies.count();
        made_.seconds = watch_.seconds();
        ++idle_;
        changed_.notify_one();
    }

    bool may_begin() {
        const std::scoped_lock lock{mutex_};
        const bool too_many = load_.count != 0 && begun_ == load_.count;
        const bool too_late = load_.time.count() != 0 && watch_.elapsed() >= load_.time;
        if (error_ || too_many || too_late) {
            return false;
        }
        ++begun_;
        return true;
    }

    void note_end() {
        const std::scoped_lock lock{mutex_};
        const auto now = watch_.elapsed();
        const Interval pause{.begin = std::exchange(last_end_, now), .end = now};
        made_.longest_pause = std::max(made_.longest_pause, pause.length());
        if (pause.length() >= std::chrono::milliseconds{10}) {
            made_.pauses.push_back(pause);
        }
        ++ended_;
    }

    const Load load_;
    const std::function<Result<>()>& call_;
    const Stopwatch watch_;

    std::mutex mutex_; // guards what follows
    std::condition_variable changed_;
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    std::size_t idle_ = 0; // callers that are done
    Span last_end_{0};
    CallsMade made_;
    std::optional<Error> error_; // the first; no call begins any more
};

} // namespace

Result<CallsMade> make_calls(const Load& load,
                             const std::function<Result<>()>& call,
                             const Progress& progress,
                             const Stopwatch& watch) {
    return Callers{load, call, watch}.run(progress);
}

} // namespace durable::cli
