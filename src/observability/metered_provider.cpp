#include "observability/metered_provider.hpp"

#include "base/stopwatch.hpp"
#include "observability/forwarding_provider.hpp"
#include "observability/observer.hpp"

#include <type_traits>
#include <utility>

namespace durable::observability {

namespace {

class MeteredProvider final : public ForwardingProvider {
 public:
    MeteredProvider(std::shared_ptr<Provider> inner, const Observer& observer)
        : ForwardingProvider{std::move(inner)}, observer_{observer} {}

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        return measure("fetch_orchestration_item",
                       [&] { return inner().fetch_orchestration_item(request); });
    }
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        return measure("ack_orchestration_item",
                       [&] { return inner().ack_orchestration_item(commit); });
    }
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        return measure("abandon_orchestration_item",
                       [&] { return inner().abandon_orchestration_item(abandon); });
    }
    Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                           Duration extend_for) override {
        return measure("renew_orchestration_item_lock", [&] {
            return inner().renew_orchestration_item_lock(lock_token, extend_for);
        });
    }
    Result<std::vector<std::string>>
    renew_leases(const std::vector<LeaseRenewal>& leases) override {
        return measure("renew_leases", [&] { return inner().renew_leases(leases); });
    }
    Result<std::vector<HistoryEvent>> read(const std::string& instance) override {
        return measure("read", [&] { return inner().read(instance); });
    }
    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        return measure("fetch_work_item", [&] { return inner().fetch_work_item(request); });
    }
    Result<> ack_work_item(const std::string& lock_token,
                           const std::optional<WorkItem>& completion) override {
        return measure("ack_work_item",
                       [&] { return inner().ack_work_item(lock_token, completion); });
    }
    Result<> renew_work_item_lock(const std::string& lock_token, Duration extend_for) override {
        return measure("renew_work_item_lock",
                       [&] { return inner().renew_work_item_lock(lock_token, extend_for); });
    }
    Result<> abandon_work_item(const std::string& lock_token,
                               std::optional<Duration> delay,
                               bool ignore_attempt) override {
        return measure("abandon_work_item", [&] {
            return inner().abandon_work_item(lock_token, delay, ignore_attempt);
        });
    }
    Result<std::uint64_t> renew_session_lock(const std::vector<std::string>& owners,
                                             Duration extend_for,
                                             Duration idle_timeout) override {
        return measure("renew_session_lock", [&] {
            return inner().renew_session_lock(owners, extend_for, idle_timeout);
        });
    }
    Result<std::uint64_t> cleanup_orphaned_sessions(Duration idle_timeout) override {
        return measure("cleanup_orphaned_sessions",
                       [&] { return inner().cleanup_orphaned_sessions(idle_timeout); });
    }
    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override {
        return measure("start_instance", [&] { return inner().start_instance(start, delay); });
    }
    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        return measure("enqueue_orchestrator",
                       [&] { return inner().enqueue_for_orchestrator(item, delay); });
    }

 private:
    template <class Call>
    std::invoke_result_t<Call> measure(std::string_view operation, Call call) {
        const Stopwatch watch;
        auto result = call();
        observer_.record(Metric::provider_operation_duration,
                         watch.seconds(),
                         {operation, result ? "success" : "error"});
        if (!result) {
            observer_.count(Metric::provider_errors, {operation, name_of(result.error().code)});
        }
        return result;
    }

    const Observer& observer_;
};

} // namespace

std::shared_ptr<Provider> metered(std::shared_ptr<Provider> provider, const Observer& observer) {
    return std::make_shared<MeteredProvider>(std::move(provider), observer);
}

} // namespace durable::observability
