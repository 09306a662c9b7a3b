// Remembers when something will become possible that is not yet: timers, delays, backoffs. That is
// what a test that skips time jumps to.

#pragma once

#include "base/mutex.hpp"
#include "observability/forwarding_provider.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <memory>
#include <optional>
#include <set>

namespace durable::testing {

class DeadlineProvider final : public ForwardingProvider {
 public:
    DeadlineProvider(std::shared_ptr<Provider> inner, std::shared_ptr<Clock> clock);

    // Finds the timers that were set before we watched.
    void learn();

    // The first one after now.
    [[nodiscard]] std::optional<Instant> next() const;

    [[nodiscard]] Result<> ack_orchestration_item(const TurnCommit& commit) override;
    [[nodiscard]] Result<> abandon_orchestration_item(const std::string& lock_token,
                                                      std::optional<Duration> delay,
                                                      bool ignore_attempt) override;
    [[nodiscard]] Result<> abandon_work_item(const std::string& lock_token,
                                             std::optional<Duration> delay,
                                             bool ignore_attempt) override;
    [[nodiscard]] Result<> enqueue_for_orchestrator(const WorkItem& item,
                                                    std::optional<Duration> delay) override;

 private:
    void remember(Instant when);
    void remember(std::optional<Duration> delay);
    void remember(const WorkItem& item);

    std::shared_ptr<Clock> clock_;
    mutable Mutex mutex_;
    mutable std::set<Instant> deadlines_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::testing
