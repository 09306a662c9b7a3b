// RunningActivities: the activities that run in this process. A cancellation that is committed here
// reaches its activity at once, and activities that ignore it are noticed.
//
// Activity threads begin and end entries, engine threads cancel, the housekeeping looks for those
// that ignore it, and the shutdown stops all. Any thread may call.

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
    cancelled, // its orchestration cancelled it, or its lease was lost
    shutdown,  // this runtime ends; the activity will be run again
};

struct RunningActivity {
    ActivityId id;
    ActivityId call; // the id of the first attempt: the same for all attempts of one call
    std::uint64_t incarnation = 0; // of its instance; 0: unknown
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

    // Names one entry. An activity may have two at a time: a zombie's, and its successor's.
    using Ticket = std::uint64_t;

    // Between these two the activity can be cancelled. One that was cancelled between its fetch and
    // now is stopped at once.
    [[nodiscard]] Ticket begin(RunningActivity activity);
    [[nodiscard]] Ended end(Ticket ticket);

    // Waits while another attempt of the same call, begun before this one, still has its thread and
    // is no zombie; at most for the grace period. False: this one was asked to stop meanwhile.
    [[nodiscard]] bool await_last_attempt(Ticket ticket, const std::stop_token& stop);
    // Whether an attempt of this call has its thread and is no zombie.
    [[nodiscard]] bool runs(const ActivityId& call) const;

    // Asks the activities of this incarnation to stop; those of another incarnation of the id run
    // on.
    void cancel(std::span<const ActivityId> ids, std::uint64_t incarnation);
    void stop_all(); // for shutdown

    // Activities that were asked to stop longer ago than the grace period, each returned once. From
    // then on they are zombies. `next`: when to call again.
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

    [[nodiscard]] bool runs_before(const ActivityId& call, Ticket ticket) const
        DURABLE_REQUIRES(mutex_);

    Clock& clock_;
    Agenda& agenda_;
    Duration grace_;
    mutable Mutex mutex_;
    WakeUp attempt_ended_{mutex_, clock_};
    std::multimap<ActivityId, Ticket> by_call_ DURABLE_GUARDED_BY(mutex_);
    std::map<Ticket, Entry> running_ DURABLE_GUARDED_BY(mutex_);
    std::multimap<ActivityId, Ticket> by_id_ DURABLE_GUARDED_BY(mutex_);
    Ticket last_ticket_ DURABLE_GUARDED_BY(mutex_) = 0;
    // Cancellations that found no entry: the activity may be between its fetch and begin().
    struct Cancelled {
        ActivityId id;
        std::uint64_t incarnation = 0;
    };
    std::deque<Cancelled> recent_ DURABLE_GUARDED_BY(mutex_);
    std::size_t zombies_ DURABLE_GUARDED_BY(mutex_) = 0;
    bool stopping_ DURABLE_GUARDED_BY(mutex_) = false;
};

} // namespace durable::runtime
