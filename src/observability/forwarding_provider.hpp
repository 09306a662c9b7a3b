// ForwardingProvider: passes every call on to another provider. A base class for decorators that
// measure or disturb one: they override the calls of interest.

#pragma once

#include <durable/provider.hpp>

#include <memory>
#include <utility>

namespace durable {

class ForwardingProvider : public Provider {
 public:
    explicit ForwardingProvider(std::shared_ptr<Provider> inner) : inner_{std::move(inner)} {}

    [[nodiscard]] std::string name() const override { return inner_->name(); }
    [[nodiscard]] std::string version() const override { return inner_->version(); }
    [[nodiscard]] Durability durability() const noexcept override { return inner_->durability(); }
    [[nodiscard]] std::size_t suitable_concurrency() const noexcept override {
        return inner_->suitable_concurrency();
    }
    [[nodiscard]] ProviderAdmin* as_management_capability() noexcept override {
        return inner_->as_management_capability();
    }

    [[nodiscard]] Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        return inner_->fetch_orchestration_item(request);
    }
    [[nodiscard]] Result<> ack_orchestration_item(const TurnCommit& commit) override {
        return inner_->ack_orchestration_item(commit);
    }
    [[nodiscard]] Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        return inner_->abandon_orchestration_item(abandon);
    }
    [[nodiscard]] Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                                         Duration extend_for) override {
        return inner_->renew_orchestration_item_lock(lock_token, extend_for);
    }

    [[nodiscard]] Result<std::vector<HistoryEvent>> read(const std::string& instance) override {
        return inner_->read(instance);
    }
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_with_execution(const std::string& instance, std::uint64_t execution_id) override {
        return inner_->read_with_execution(instance, execution_id);
    }
    [[nodiscard]] Result<> append_with_execution(const std::string& instance,
                                                 std::uint64_t execution_id,
                                                 const std::vector<HistoryEvent>& events) override {
        return inner_->append_with_execution(instance, execution_id, events);
    }

    [[nodiscard]] Result<> enqueue_for_worker(const WorkItem& item) override {
        return inner_->enqueue_for_worker(item);
    }
    [[nodiscard]] Result<std::optional<WorkLease>>
    fetch_work_item(const FetchWork& request) override {
        return inner_->fetch_work_item(request);
    }
    [[nodiscard]] Result<> ack_work_item(const std::string& lock_token,
                                         const std::optional<WorkItem>& completion) override {
        return inner_->ack_work_item(lock_token, completion);
    }
    [[nodiscard]] Result<> renew_work_item_lock(const std::string& lock_token,
                                                Duration extend_for) override {
        return inner_->renew_work_item_lock(lock_token, extend_for);
    }
    [[nodiscard]] Result<> abandon_work_item(const std::string& lock_token,
                                             std::optional<Duration> delay,
                                             bool ignore_attempt) override {
        return inner_->abandon_work_item(lock_token, delay, ignore_attempt);
    }

    [[nodiscard]] Result<std::uint64_t> renew_session_lock(const std::vector<std::string>& owners,
                                                           Duration extend_for,
                                                           Duration idle_timeout) override {
        return inner_->renew_session_lock(owners, extend_for, idle_timeout);
    }
    [[nodiscard]] Result<std::uint64_t> cleanup_orphaned_sessions(Duration idle_timeout) override {
        return inner_->cleanup_orphaned_sessions(idle_timeout);
    }

    [[nodiscard]] Result<> start_instance(const work::StartOrchestration& start,
                                          std::optional<Duration> delay) override {
        return inner_->start_instance(start, delay);
    }
    [[nodiscard]] Result<> enqueue_for_orchestrator(const WorkItem& item,
                                                    std::optional<Duration> delay) override {
        return inner_->enqueue_for_orchestrator(item, delay);
    }
    [[nodiscard]] Result<std::optional<CustomStatus>>
    get_custom_status(const std::string& instance, std::uint64_t last_seen_version) override {
        return inner_->get_custom_status(instance, last_seen_version);
    }
    [[nodiscard]] Result<std::optional<std::string>> get_kv_value(const std::string& instance,
                                                                  const std::string& key) override {
        return inner_->get_kv_value(instance, key);
    }
    [[nodiscard]] Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) override {
        return inner_->get_kv_all_values(instance);
    }
    [[nodiscard]] Result<std::optional<InstanceStats>>
    get_instance_stats(const std::string& instance) override {
        return inner_->get_instance_stats(instance);
    }
    [[nodiscard]] Result<InstanceState> watch_instance(const WatchInstance& request) override {
        return inner_->watch_instance(request);
    }

 protected:
    [[nodiscard]] Provider& inner() const noexcept { return *inner_; }

 private:
    std::shared_ptr<Provider> inner_;
};

} // namespace durable
