// InstrumentedProvider: a provider that counts and times every call to another one.
//
//     auto watched = std::make_shared<durable::InstrumentedProvider>(store);
//     ... use watched like store ...
//     for (const auto& call : watched->snapshot()) { print(call.operation, call.mean()); }
//
// For benchmarks, for tests that promise a number of calls, and to find out what a store costs. A
// call through it costs two readings of the clock and a few atomic additions.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace durable {

struct CallStatistics {
    using Nanoseconds = std::chrono::nanoseconds;

    // Calls that took less than 2^(i+1) ns and not less than 2^i ns are counted in bucket i.
    static constexpr std::size_t buckets = 40;

    std::string_view operation; // "ack_orchestration_item"
    std::uint64_t calls = 0;    // errors included
    std::uint64_t errors = 0;
    std::array<std::uint64_t, error_code_count> errors_by_code{};
    Nanoseconds total{};
    Nanoseconds longest{};
    std::array<std::uint64_t, buckets> histogram{};

    [[nodiscard]] std::uint64_t errors_of(ErrorCode code) const noexcept {
        return errors_by_code[static_cast<std::size_t>(code)];
    }
    [[nodiscard]] Nanoseconds mean() const noexcept;
    // An upper bound of the time within which that share (0.99) of the calls returned.
    [[nodiscard]] Nanoseconds quantile(double share) const noexcept;
};

class InstrumentedProvider final : public Provider {
 public:
    explicit InstrumentedProvider(std::shared_ptr<Provider> inner);
    ~InstrumentedProvider() override;

    // One entry per operation that was called, in the order of the contract. Calls that run at this
    // moment may be counted in part.
    [[nodiscard]] std::vector<CallStatistics> snapshot() const;
    // One operation's numbers; all zero when it was never called.
    [[nodiscard]] CallStatistics of(std::string_view operation) const;
    void reset() noexcept;

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] std::string version() const override;
    [[nodiscard]] Durability durability() const noexcept override;
    [[nodiscard]] std::size_t suitable_concurrency() const noexcept override;
    [[nodiscard]] ProviderAdmin* as_management_capability() noexcept override;

    [[nodiscard]] Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override;
    [[nodiscard]] Result<> ack_orchestration_item(const TurnCommit& commit) override;
    [[nodiscard]] Result<> abandon_orchestration_item(const AbandonTurn& abandon) override;
    [[nodiscard]] Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                                         Duration extend_for) override;
    [[nodiscard]] Result<std::vector<HistoryEvent>> read(const std::string& instance) override;
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_with_execution(const std::string& instance, std::uint64_t execution_id) override;
    [[nodiscard]] Result<> append_with_execution(const std::string& instance,
                                                 std::uint64_t execution_id,
                                                 const std::vector<HistoryEvent>& events) override;
    [[nodiscard]] Result<> enqueue_for_worker(const WorkItem& item) override;
    [[nodiscard]] Result<std::optional<WorkLease>>
    fetch_work_item(const FetchWork& request) override;
    [[nodiscard]] Result<> ack_work_item(const std::string& lock_token,
                                         const std::optional<WorkItem>& completion) override;
    [[nodiscard]] Result<> renew_work_item_lock(const std::string& lock_token,
                                                Duration extend_for) override;
    [[nodiscard]] Result<> abandon_work_item(const std::string& lock_token,
                                             std::optional<Duration> delay,
                                             bool ignore_attempt) override;
    [[nodiscard]] Result<std::uint64_t>
    renew_session_lock(const std::vector<std::string>& owner_ids,
                       Duration extend_for,
                       Duration idle_timeout) override;
    [[nodiscard]] Result<std::uint64_t> cleanup_orphaned_sessions(Duration idle_timeout) override;
    [[nodiscard]] Result<> start_instance(const work::StartOrchestration& start,
                                          std::optional<Duration> delay) override;
    [[nodiscard]] Result<> enqueue_for_orchestrator(const WorkItem& item,
                                                    std::optional<Duration> delay) override;
    [[nodiscard]] Result<std::optional<CustomStatus>>
    get_custom_status(const std::string& instance, std::uint64_t last_seen_version) override;
    [[nodiscard]] Result<std::optional<std::string>> get_kv_value(const std::string& instance,
                                                                  const std::string& key) override;
    [[nodiscard]] Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) override;
    [[nodiscard]] Result<std::optional<InstanceStats>>
    get_instance_stats(const std::string& instance) override;
    [[nodiscard]] Result<InstanceState> watch_instance(const WatchInstance& request) override;

 private:
    class Counters;
    class Admin;

    std::shared_ptr<Provider> inner_;
    std::unique_ptr<Counters> counters_;
    std::unique_ptr<Admin> admin_; // nullptr when the inner provider has none
};

} // namespace durable
