// LedgerProvider: a ledger made into a provider: one mutex around it, and threads that wait.
//
// Every state-changing call decides, journals and applies one record under the mutex. Where a store
// keeps its journal is up to the derived class; the memory provider keeps none.

#pragma once

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "providers/ledger/activities.hpp"
#include "providers/ledger/archive.hpp"
#include "providers/ledger/ledger.hpp"
#include "providers/ledger/management.hpp"
#include "providers/ledger/turns.hpp"
#include "providers/ledger/waiters.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace durable::ledger {

class LedgerProvider : public Provider, public ProviderAdmin {
 public:
    ProviderAdmin* as_management_capability() noexcept override { return this; }

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override;
    Result<> ack_orchestration_item(const TurnCommit& commit) override;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override;
    Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                           Duration extend_for) override;

    Result<std::vector<HistoryEvent>> read(const std::string& instance) override;
    Result<std::vector<HistoryEvent>> read_with_execution(const std::string& instance,
                                                          std::uint64_t execution_id) override;
    Result<> append_with_execution(const std::string& instance,
                                   std::uint64_t execution_id,
                                   const std::vector<HistoryEvent>& events) override;

    Result<> enqueue_for_worker(const WorkItem& item) override;
    Result<std::optional<durable::WorkLease>>
    fetch_work_item(const durable::FetchWork& request) override;
    Result<> ack_work_item(const std::string& lock_token,
                           const std::optional<WorkItem>& completion) override;
    Result<> renew_work_item_lock(const std::string& lock_token, Duration extend_for) override;
    Result<> abandon_work_item(const std::string& lock_token,
                               std::optional<Duration> delay,
                               bool ignore_attempt) override;
    Result<std::uint64_t> renew_session_lock(const std::vector<std::string>& owner_ids,
                                             Duration extend_for,
                                             Duration idle_timeout) override;
    Result<std::uint64_t> cleanup_orphaned_sessions(Duration idle_timeout) override;

    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override;
    Result<> enqueue_for_orchestrator(const WorkItem& item, std::optional<Duration> delay) override;

    Result<std::optional<CustomStatus>> get_custom_status(const std::string& instance,
                                                          std::uint64_t last_seen_version) override;
    Result<std::optional<std::string>> get_kv_value(const std::string& instance,
                                                    const std::string& key) override;
    Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) override;
    Result<std::optional<InstanceStats>> get_instance_stats(const std::string& instance) override;
    Result<InstanceState> watch_instance(const WatchInstance& request) override;

    Result<std::vector<std::string>> list_instances() override;
    Result<std::vector<std::string>> list_instances_by_status(const std::string& status) override;
    Result<std::vector<std::uint64_t>> list_executions(const std::string& instance) override;
    Result<std::vector<HistoryEvent>>
    read_history_with_execution_id(const std::string& instance,
                                   std::uint64_t execution_id) override;
    Result<std::vector<HistoryEvent>> read_history(const std::string& instance) override;
    Result<std::uint64_t> latest_execution_id(const std::string& instance) override;
    Result<InstanceInfo> get_instance_info(const std::string& instance) override;
    Result<ExecutionInfo> get_execution_info(const std::string& instance,
                                             std::uint64_t execution_id) override;
    Result<SystemMetrics> get_system_metrics() override;
    Result<QueueDepths> get_queue_depths() override;
    Result<std::vector<QuarantinedItem>> list_quarantined() override;
    Result<std::vector<ParkedWork>> list_parked(Duration waited, std::uint32_t limit) override;
    Result<std::vector<std::string>> list_children(const std::string& instance) override;
    Result<std::optional<std::string>> get_parent_id(const std::string& instance) override;
    Result<InstanceTree> get_instance_tree(const std::string& instance) override;
    Result<DeleteInstanceResult> delete_instance(const std::string& instance, bool force) override;
    Result<DeleteInstanceResult> delete_instances_atomic(const std::vector<std::string>& instances,
                                                         bool force) override;
    Result<DeleteInstanceResult> delete_instance_bulk(const InstanceFilter& filter) override;
    Result<PruneResult> prune_executions(const std::string& instance,
                                         const PruneOptions& options) override;
    Result<PruneResult> prune_executions_bulk(const InstanceFilter& filter,
                                              const PruneOptions& options) override;

 protected:
    // What is about to be told to somebody outside.
    enum class Telling : std::uint8_t {
        turn_given,  // an instance, to run its turn
        turn_done,   // that a turn was committed or given back
        work_given,  // an activity, to run it
        work_done,   // that an activity's end was noted, or that it was given back
        done,        // that any other call was carried out
        done_passed, // the same, and somebody was called to run a turn
        state,       // what is stored
    };

    LedgerProvider(ledger::Options options,
                   std::shared_ptr<Clock> clock,
                   std::shared_ptr<Random> random);

    // Keeps the record, in the order of the calls. An error means that it was not kept and nothing
    // happens.
    [[nodiscard]] virtual Result<> journal(const Record& record) DURABLE_REQUIRES(mutex_);
    // How far the journal has come, and waiting until that much of it is safe enough for telling.
    // `given` is the queue position of an activity, else 0.
    [[nodiscard]] virtual std::uint64_t position() const DURABLE_REQUIRES(mutex_);
    [[nodiscard]] virtual Result<> settle(Telling what, std::uint64_t position, Seq given)
        DURABLE_EXCLUDES(mutex_);

    // Rings the bell of somebody who will be told something, if not at once then no later than when
    // that is safe enough for it.
    virtual void ring_once_safe(const MutexLock& lock,
                                std::uint64_t position,
                                const std::shared_ptr<Bell>& bell) DURABLE_REQUIRES(mutex_);

    // A record was applied.
    virtual void applied() DURABLE_REQUIRES(mutex_) {}
    // Whether everything that was looked at since the last call could be read; asked before what
    // was seen is used.
    [[nodiscard]] virtual Result<> looked() DURABLE_REQUIRES(mutex_) { return {}; }
    // From now on nobody waits for a disk: looked() fails for what is not here, and the errand,
    // which ends this, brings it. nullptr: all was here.
    virtual void put_off_reading() DURABLE_REQUIRES(mutex_) {}
    [[nodiscard]] virtual std::unique_ptr<Errand> take_errand() DURABLE_REQUIRES(mutex_) {
        return nullptr;
    }
    // Instances in an archive that a bulk call may be meant for, at most `limit`; roots: without
    // those that have a parent for sure. The call itself looks at each of them again.
    [[nodiscard]] virtual Result<std::vector<std::string>>
    archived(const InstanceFilter&, bool /*roots*/, std::size_t /*limit*/)
        DURABLE_EXCLUDES(mutex_) {
        return {};
    }

    [[nodiscard]] Moment now() const {
        return {
            .wall = clock_->now(), .steady = clock_->steady(), .rounding = rounding_of(*clock_)};
    }
    // Journals and applies.
    [[nodiscard]] Result<> commit(Record record) DURABLE_REQUIRES(mutex_);
    // Answers all who watch, since nothing will change any more: settle() tells them why.
    void tell_watchers() DURABLE_EXCLUDES(mutex_);
    // Wakes those who wait for what was done since. To be called before the mutex is given up.
    void wake(const MutexLock& lock) DURABLE_REQUIRES(mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::shared_ptr<Random> random_;
    mutable Mutex mutex_;
    Ledger ledger_ DURABLE_GUARDED_BY(mutex_);
    Waiters waiters_ DURABLE_GUARDED_BY(mutex_){ledger_.suspects};
    std::atomic<bool> one_is_awake_{false}; // and waits for a turn
    std::atomic<int> waits_to_sleep_{0};    // so many are not worth to stay awake for

 private:
    // Takes `step` through the mutex, again and again until all that it looks at is here. It
    // answers a Result, and changes nothing that cannot be repeated before it has asked looked().
    template <class Step>
    auto with_all_here(Step step) DURABLE_EXCLUDES(mutex_);

    // The three ways through the mutex. `decide`, `change` and `look` are called with the ledger
    // while it is held: a decided record is committed, a volatile change needs no record.
    template <class Decide>
    [[nodiscard]] Result<> carry_out(std::string_view operation, Telling telling, Decide&& decide);
    template <class Change>
    auto change(Change&& change);
    template <class Look>
    auto look(std::string_view operation, Look&& look);

    template <class Request>
    auto wait_for(const Request& request);
    template <class Request>
    auto sleep_until(const Request& request, SteadyInstant deadline);
    // Waits a little before sleep_until. Turns only: activities are waited for by many.
    [[nodiscard]] Result<std::optional<TurnOffer>> wait_awake(const FetchOrchestration& request);
    [[nodiscard]] static Result<std::optional<WorkOffer>> wait_awake(const durable::FetchWork&) {
        return std::nullopt;
    }

    [[nodiscard]] Result<std::optional<TurnOffer>> attempt(const FetchOrchestration& request)
        DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<std::optional<WorkOffer>> attempt(const durable::FetchWork& request)
        DURABLE_REQUIRES(mutex_);
    [[nodiscard]] bool changed(const WatchInstance& request) const DURABLE_REQUIRES(mutex_);
    void answer(Watcher& watcher) DURABLE_REQUIRES(mutex_);
    void answer_watchers(const MutexLock& lock) DURABLE_REQUIRES(mutex_);
    // And forgets the watcher, which may be gone from then on.
    std::uint64_t dismiss(Watcher& watcher) DURABLE_REQUIRES(mutex_);
    void take_back(const TurnOffer& offer) DURABLE_EXCLUDES(mutex_);
    void take_back(const WorkOffer& offer) DURABLE_EXCLUDES(mutex_);
    std::optional<Duration> next_due(const FetchOrchestration&) DURABLE_REQUIRES(mutex_);
    std::optional<Duration> next_due(const durable::FetchWork&) DURABLE_REQUIRES(mutex_);
    Seekers<FetchOrchestration>& seekers(const FetchOrchestration&) DURABLE_REQUIRES(mutex_);
    Seekers<durable::FetchWork>& seekers(const durable::FetchWork&) DURABLE_REQUIRES(mutex_);
    template <class Request>
    void cover_next_due(const Request& request) DURABLE_REQUIRES(mutex_);

    Token new_token() { return {.high = random_->next(), .low = random_->next()}; }
    [[nodiscard]] Result<> expire() DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<> expire_now(std::string_view operation);
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_events(const std::string& instance,
                std::optional<std::uint64_t> execution_id,
                std::string_view operation);

    template <class Decided>
    [[nodiscard]] Result<decltype(Decided::result)> finish(Result<Decided> decided)
        DURABLE_REQUIRES(mutex_);
    template <class Answer>
    [[nodiscard]] Result<Answer>
    tell(std::string_view operation, Result<Answer> answer, std::uint64_t reached);
    // Deletes what matches, in portions; `left` goes down by the roots that matched.
    [[nodiscard]] Result<> delete_matching(const InstanceFilter& filter,
                                           std::uint32_t& left,
                                           DeleteInstanceResult& sum,
                                           std::uint64_t& reached);
    // `roots`: how many are gone; those that were before the call count against the limit.
    [[nodiscard]] Result<> delete_some(const InstanceFilter& filter,
                                       std::uint32_t& roots,
                                       DeleteInstanceResult& sum) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<PruneResult> prune_one(const std::string& instance,
                                                const PruneOptions& options)
        DURABLE_REQUIRES(mutex_);
    // From the front; those that are done leave the span.
    [[nodiscard]] Result<> prune_some(std::span<const std::string>& instances,
                                      const PruneOptions& options,
                                      PruneResult& sum) DURABLE_REQUIRES(mutex_);
};

// A step that failed because something was not here has done nothing.
template <class Step>
auto LedgerProvider::with_all_here(Step step) {
    constexpr std::size_t most_errands = 16; // a tree has levels; then whoever asks has to wait
    std::vector<std::unique_ptr<Errand>> errands;
    while (true) {
        {
            const MutexLock lock{mutex_};
            if (errands.size() < most_errands) {
                put_off_reading();
            }
            auto done = step(lock);
            auto errand = take_errand();
            if (done || !errand) {
                return done;
            }
            errands.push_back(std::move(errand));
        }
        if (auto brought = errands.back()->run(); !brought) {
            return decltype(step(std::declval<const MutexLock&>())){
                std::unexpected{std::move(brought).error()}};
        }
    }
}

} // namespace durable::ledger
