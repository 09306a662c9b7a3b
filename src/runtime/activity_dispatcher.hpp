// ActivityDispatcher: fetches activities from the worker queue, runs them and stores their results.
//
// step() does one of them from fetch to acknowledgement on the calling thread. A dispatcher belongs
// to one thread, of the ThreadRunner or of a test; any number of them share a Node.

#pragma once

#include "observability/observer.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/running_activities.hpp"
#include "runtime/step.hpp"

#include <durable/activity_context.hpp>
#include <durable/provider.hpp>
#include <durable/registry.hpp>
#include <durable/result.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace durable::runtime {

struct Node;

class ActivityDispatcher {
 public:
    ActivityDispatcher(Node& node, std::string worker_id);

    // Waits up to `poll` for an activity, `stop` ends the wait, and runs it.
    StepResult step(Duration poll, const std::stop_token& stop);

    // The two halves of step(), for the ThreadRunner, which counts the thread as busy in between.
    // Without a lease, the result of fetch() is idle or failed.
    [[nodiscard]] StepResult
    fetch(Duration poll, const std::stop_token& stop, std::optional<WorkLease>& lease);
    Ran run(WorkLease lease);

    // Runs the oldest activity on the calling thread if it is declared short, else leaves it to the
    // activity threads. For an engine thread that has just committed one. Nothing: none has run.
    [[nodiscard]] std::optional<Ran> run_short();

 private:
    struct Call; // one activity on its way through run()

    [[nodiscard]] Ran run_in_session(const WorkLease& lease, const ActivityHandler& handler);
    [[nodiscard]] Outcome<std::string> invoke(const Call& call, const ActivityHandler& handler);
    [[nodiscard]] Ran conclude(const Call& call, Outcome<std::string> outcome);
    void poison(const WorkLease& lease);
    void leave_unregistered(const WorkLease& lease);
    void give_back(const WorkLease& lease, std::optional<Duration> delay, bool ignore_attempt);

    // lock_lost (P3): cancelled, or another worker has the activity. Other errors are permanent:
    // retryable ones were retried.
    [[nodiscard]] Result<> store(const std::string& lock_token, const WorkItem& completion);
    void measure(const Call& call, std::string_view outcome) const;

    Node& node_;
    std::string worker_id_;
    LeaseKeeper::Slot slot_;
    FetchBackoff backoff_;
};

} // namespace durable::runtime
