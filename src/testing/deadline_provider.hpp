// DeadlineProvider: the store as a TestRuntime sees it. It remembers the moments at which work
// becomes due (timers, delays, backoffs): a test that skips time jumps to them. None of its calls
// waits: the test has one thread, so what it waits for would never come.

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

    // Finds the timers that were set earlier, for stores that do not report what is due.
    void learn();

    // The code of the node. An instance whose code it does not have is handed to it some time after
    // a cancellation (OrchestrationCode::cancelled_for).
    void set_code(std::shared_ptr<const OrchestrationCode> code) { code_ = std::move(code); }

    // The first moment after now, of those that the store reports and those remembered here.
    [[nodiscard]] std::optional<Instant> next();

    // The running activity has reached the time limit of the test's call: its result is not stored,
    // and the next fetch after this moment gets it again.
    void interrupt();

    struct Interrupted {
        std::string instance;
        std::string activity;
    };
    // All interrupted activities since the last call.
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

    // The state as it is; timed_out when the caller would have to wait for a change.
    [[nodiscard]] Result<InstanceState> watch_instance(const WatchInstance& request) override;

 private:
    // True: the activity that is about to be acknowledged was interrupted.
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
