// The store as a TestRuntime sees it. Remembers when something will become possible that is not
// yet: timers, delays, backoffs; that is what a test that skips time jumps to. And nobody waits in
// it: what a test waits for on the only thread there is would never come.

#pragma once

#include "base/mutex.hpp"
#include "observability/forwarding_provider.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace durable::testing {

class DeadlineProvider final : public ForwardingProvider {
 public:
    DeadlineProvider(std::shared_ptr<Provider> inner, std::shared_ptr<Clock> clock);

    // Finds the timers that were set before we watched, for stores that do not tell what is due.
    void learn();

    // What the node can run: an instance that it cannot is handed to it a while after it was told
    // to end.
    void set_code(std::shared_ptr<const OrchestrationCode> code) { code_ = std::move(code); }

    // The first one after now: as the store tells, and as it was seen here.
    [[nodiscard]] std::optional<Instant> next();

    // The activity that runs now has come to the limit of a call: what it answers is not kept, and
    // it is handed out again after this moment.
    void interrupt();

    struct Interrupted {
        std::string instance;
        std::string activity;
    };
    // All since the last call.
    [[nodiscard]] std::vector<Interrupted> take_interrupted();

    [[nodiscard]] Result<std::optional<WorkLease>>
    fetch_work_item(const FetchWork& request) override;
    [[nodiscard]] Result<> ack_work_item(const std::string& lock_token,
                                         const std::optional<WorkItem>& completion) override;
    [[nodiscard]] Result<> ack_orchestration_item(const TurnCommit& commit) override;
    [[nodiscard]] Result<> abandon_orchestration_item(const AbandonTurn& abandon) override;
    [[nodiscard]] Result<> abandon_work_item(const std::string& lock_token,
                                             std::optional<Duration> delay,
                                             bool ignore_attempt) override;
    [[nodiscard]] Result<> start_instance(const work::StartOrchestration& start,
                                          std::optional<Duration> delay) override;
    [[nodiscard]] Result<> enqueue_for_orchestrator(const WorkItem& item,
                                                    std::optional<Duration> delay) override;

    // What is there; timed_out when that would have to be waited for.
    [[nodiscard]] Result<InstanceState> watch_instance(const WatchInstance& request) override;

 private:
    // True: what is about to be acknowledged was interrupted.
    [[nodiscard]] bool note_interruption(const std::optional<WorkItem>& completion);
    [[nodiscard]] std::optional<Instant> next_of_store();
    void remember(Instant when);
    void remember(std::optional<Duration> delay);
    void remember(const WorkItem& item);
    void remember(const work::CancelInstance& cancel);

    std::shared_ptr<Clock> clock_;
    std::shared_ptr<const OrchestrationCode> code_;
    Mutex mutex_;
    std::set<Instant> deadlines_ DURABLE_GUARDED_BY(mutex_);
    bool interrupting_ DURABLE_GUARDED_BY(mutex_) = false;
    std::vector<Interrupted> interrupted_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::testing
