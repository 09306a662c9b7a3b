// Which activities run in this process, so that a cancellation that is committed here reaches its
// activity at once, and so that activities which ignore it are noticed.

#pragma once

#include "base/mutex.hpp"
#include "runtime/agenda.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace durable::runtime {

// Why an activity was asked to stop.
enum class StopReason : std::uint8_t {
    none,
    cancelled, // its orchestration does not want the result, or another worker has it
    shutdown,  // this runtime ends; the activity will be run again
};

struct RunningActivity {
    ActivityId id;
    std::string name;
    std::string lock_token;
    std::stop_source stop;
};

class RunningActivities {
 public:
    RunningActivities(Clock& clock, Agenda& agenda, Duration grace)
        : clock_{clock}, agenda_{agenda}, grace_{grace} {}

    struct Ended {
        StopReason reason = StopReason::none;
        bool zombie = false; // given up meanwhile: the result must be ignored
    };

    // One call of an activity. An activity may run twice at a time: a zombie, and its successor.
    using Ticket = std::uint64_t;

    // Between these two the activity can be cancelled. One that was cancelled between its fetch and
    // now is stopped at once.
    [[nodiscard]] Ticket begin(RunningActivity activity);
    [[nodiscard]] Ended end(Ticket ticket);

    void cancel(std::span<const ActivityId> ids);
    void stop_all(); // for shutdown

    // Activities that were asked to stop longer than the grace period ago, each told once. From
    // then on they are zombies. Also answers when to ask again.
    struct Overdue {
        std::vector<RunningActivity> zombies;
        SteadyInstant next = SteadyInstant::max();
    };
    [[nodiscard]] Overdue take_overdue();

    // Gives up everything that still runs: all become zombies.
    [[nodiscard]] std::vector<RunningActivity> take_all();

    [[nodiscard]] std::size_t size() const;    // zombies not included
    [[nodiscard]] std::size_t zombies() const; // still on their threads

 private:
    struct Entry {
        RunningActivity activity;
        StopReason reason = StopReason::none;
        std::optional<SteadyInstant> stopped_at;
        bool zombie = false;
    };

    static constexpr std::size_t remembered_cancellations = 1024;

    Clock& clock_;
    Agenda& agenda_;
    Duration grace_;
    mutable Mutex mutex_;
    std::map<Ticket, Entry> running_ DURABLE_GUARDED_BY(mutex_);
    std::multimap<ActivityId, Ticket> by_id_ DURABLE_GUARDED_BY(mutex_);
    Ticket last_ticket_ DURABLE_GUARDED_BY(mutex_) = 0;
    // Cancellations that met nobody: the activity may just be on its way from the queue.
    std::deque<ActivityId> recent_ DURABLE_GUARDED_BY(mutex_);
    std::size_t zombies_ DURABLE_GUARDED_BY(mutex_) = 0;
    bool stopping_ DURABLE_GUARDED_BY(mutex_) = false;
};

} // namespace durable::runtime
