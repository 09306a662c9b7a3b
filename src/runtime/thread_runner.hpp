// ThreadRunner: the only place where the library makes threads for a runtime. They call step() of
// dispatchers until the shutdown. Runtime owns it and calls start() and shutdown().
//
//   engine threads      a fixed number; each fetches, runs and commits turns
//   activity threads    as many as are busy, and one that waits; up to a limit. Spare ones end
//                       within seconds after a burst
//   renewals            one, for leases and sessions
//   housekeeping        one, for the rest
//
// Idle threads wait inside the provider (long poll). P11: it wakes one of them when there is work,
// so there is no hand-off between threads here.

#pragma once

#include "base/mutex.hpp"
#include "runtime/activity_dispatcher.hpp"
#include "runtime/housekeeping.hpp"
#include "runtime/node.hpp"
#include "runtime/renewals.hpp"
#include "runtime/step.hpp"

#include <durable/runtime.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace durable::runtime {

// Its threads share ownership: one that is stuck in an activity at shutdown keeps it alive.
class ThreadRunner final : public std::enable_shared_from_this<ThreadRunner> {
 public:
    explicit ThreadRunner(std::unique_ptr<Node> node);
    ThreadRunner(const ThreadRunner&) = delete;
    ThreadRunner& operator=(const ThreadRunner&) = delete;
    ~ThreadRunner();

    // Throws std::system_error when the system makes no threads.
    void start();

    // See Runtime::shutdown. Any thread; later callers wait for the first.
    ShutdownReport shutdown(Duration timeout);

    [[nodiscard]] Node& node() const noexcept { return *node_; }

 private:
    struct Thread {
        std::jthread thread;
        bool done = false;
    };

    void spawn(std::function<void()> body) DURABLE_REQUIRES(mutex_);
    void grow() DURABLE_REQUIRES(mutex_); // one more activity thread, if allowed
    void reap() DURABLE_REQUIRES(mutex_); // joins threads that have ended
    void run_engine(const std::string& worker_id);
    void run_activities(const std::string& worker_id);
    void keep_house(const std::stop_token& stop);
    void keep_leases(const std::stop_token& stop);
    // For an activity thread after a run. True: it has to end, and is not counted any more.
    [[nodiscard]] bool end_activity(Ran ran);
    [[nodiscard]] bool is_spare() DURABLE_REQUIRES(mutex_);
    void uncount() DURABLE_REQUIRES(mutex_); // an activity thread that waits and will end
    // Counts how the run of an activity ended, on an activity thread or an engine thread.
    void account(const MutexLock& lock, Ran ran) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] std::size_t allowed() const DURABLE_REQUIRES(mutex_); // activity threads
    void pace(const StepResult& result, SteadyInstant begun);

    // Waits until only zombies are left (true), or until the moment `until` (false).
    [[nodiscard]] bool wait_for_threads(SteadyInstant until);
    void leave_behind();
    // Gives back turns whose code does not return; returns their number.
    [[nodiscard]] std::size_t leave_turns_behind();
    void release_sessions();

    const std::unique_ptr<Node> node_;
    Housekeeping housekeeping_;
    Renewals renewals_;
    std::stop_source stop_fetching_;

    Mutex mutex_;
    WakeUp changed_;
    std::list<Thread> threads_ DURABLE_GUARDED_BY(mutex_);
    std::jthread house_;
    std::jthread leases_;
    std::size_t running_ DURABLE_GUARDED_BY(mutex_) = 0;    // threads, but for house_ and leases_
    std::size_t activities_ DURABLE_GUARDED_BY(mutex_) = 0; // of these, for activities
    std::size_t waiting_ DURABLE_GUARDED_BY(mutex_) = 0;    // of these, without work
    std::size_t zombies_ DURABLE_GUARDED_BY(mutex_) = 0;    // of these, given up
    // The smallest waiting_ since the last count of spare threads, and how many of that count have
    // not ended yet.
    std::size_t least_waiting_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::size_t spare_ DURABLE_GUARDED_BY(mutex_) = 0;
    SteadyInstant next_count_ DURABLE_GUARDED_BY(mutex_){};
    std::size_t spawned_ DURABLE_GUARDED_BY(mutex_) = 0;
    bool stopping_ DURABLE_GUARDED_BY(mutex_) = false;
    ShutdownReport progress_ DURABLE_GUARDED_BY(mutex_);
    std::optional<ShutdownReport> report_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
