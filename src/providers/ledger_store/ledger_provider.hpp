// LedgerProvider: the provider contract on a ledger: one mutex around it, and long polls.
//
// Every state-changing call decides, journals and applies one record under the mutex: so a commit
// is applied as a whole (P2), and no other call comes between the check of a lease and its use (P1,
// P3). Derived classes journal the records and say when an answer may leave (P12); the memory
// provider does neither.

#pragma once

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "providers/ledger/activities.hpp"
#include "providers/ledger/archive.hpp"
#include "providers/ledger/ledger.hpp"
#include "providers/ledger/management.hpp"
#include "providers/ledger/turns.hpp"
#include "providers/ledger_store/waiters.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace durable::ledger {

class LedgerProvider : public Provider, public ProviderAdmin {
 public:
    // For random tests: from now on every provider of this process checks its whole ledger after
    // every call (Ledger::check).
    static void check_after_every_call() noexcept { checks_all_ = true; }

    ProviderAdmin* as_management_capability() noexcept override { return this; }

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override;
    Result<> ack_orchestration_item(const TurnCommit& commit) override;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override;
    Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                           Duration extend_for) override;

    Result<std::vector<std::string>> renew_leases(const std::vector<LeaseRenewal>& leases) override;

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
    // What the call is about to answer.
    enum class AnswerKind : std::uint8_t {
        turn_given,      // an instance, to run its turn
        turn_done,       // a turn was committed or abandoned
        work_given,      // an activity, to run it
        work_done,       // an activity was finished or abandoned
        done,            // any other change was made
        done_and_called, // the same, and a waiter was called to run a turn
        state,           // stored state
    };

    LedgerProvider(ledger::Options options,
                   std::shared_ptr<Clock> clock,
                   std::shared_ptr<Random> random);

    // Stores the record, in the order of the calls. After an error the record is not applied.
    [[nodiscard]] virtual Result<> journal(const Record& record) DURABLE_REQUIRES(mutex_);
    // The last record of the journal; and P12: waits until the journal up to there is as durable as
    // an answer of this kind needs. `given` is the queue position of a given activity, else 0.
    [[nodiscard]] virtual std::uint64_t position() const DURABLE_REQUIRES(mutex_);
    [[nodiscard]] virtual Result<>
    wait_until_safe(AnswerKind kind, std::uint64_t position, Seq given) DURABLE_EXCLUDES(mutex_);

    // Sets the signal of a watcher that was answered: at the latest when the record at `position`
    // is durable enough for the answer.
    virtual void set_once_safe(const MutexLock& lock,
                               std::uint64_t position,
                               const std::shared_ptr<Signal>& signal) DURABLE_REQUIRES(mutex_);

    // Called after a record was applied.
    virtual void applied() DURABLE_REQUIRES(mutex_) {}
    // Whether every lookup since the last call could be answered from memory or the archive. Asked
    // before the results are used.
    [[nodiscard]] virtual Result<> looked() DURABLE_REQUIRES(mutex_) { return {}; }
    // From now on no read of the archive waits for a disk: looked() fails for what is not in
    // memory. take_deferred_read() ends this and answers the read that brings what was missing;
    // nullptr: nothing was.
    virtual void defer_reads() DURABLE_REQUIRES(mutex_) {}
    [[nodiscard]] virtual std::unique_ptr<DeferredRead> take_deferred_read()
        DURABLE_REQUIRES(mutex_) {
        return nullptr;
    }
    // Archived instances that a bulk call may match, at least `limit` if there are as many.
    // `roots`: children do not count for the limit. The caller checks each of them again.
    [[nodiscard]] virtual Result<std::vector<std::string>>
    archived(const InstanceFilter&, bool /*roots*/, std::size_t /*limit*/)
        DURABLE_EXCLUDES(mutex_) {
        return {};
    }

    [[nodiscard]] Moment now() const {
        return {
            .wall = clock_->now(), .steady = clock_->steady(), .rounding = rounding_of(*clock_)};
    }
    // Journals and applies a record.
    [[nodiscard]] Result<> commit(Record record) DURABLE_REQUIRES(mutex_);
    // Answers all watchers after a failure of the store: wait_until_safe() gives them the error.
    void tell_watchers() DURABLE_EXCLUDES(mutex_);
    // P11: wakes the waiters for what was done since the last call. Called before every unlock.
    void wake(const MutexLock& lock) DURABLE_REQUIRES(mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::shared_ptr<Random> random_;
    mutable Mutex mutex_;
    Ledger ledger_ DURABLE_GUARDED_BY(mutex_);
    Waiters waiters_ DURABLE_GUARDED_BY(mutex_){ledger_.suspects};
    static inline std::atomic<bool> checks_all_{false};
    std::atomic<bool> one_is_awake_{false}; // a fetch of turns spins
    std::atomic<int> waits_to_sleep_{0};    // so many fetches sleep without spinning first

 private:
    // Runs `step` under the mutex; again, after a deferred read without the mutex, as long as it
    // looks up archived instances. `step` answers a Result, and changes nothing before looked()
    // succeeds.
    template <class Step>
    auto with_all_here(Step step) DURABLE_EXCLUDES(mutex_);

    // The three kinds of calls. `decide`, `change` and `look` run under the mutex: the record of
    // `decide` is committed, `change` needs no record (leases), `look` only reads.
    template <class Decide>
    [[nodiscard]] Result<> carry_out(std::string_view operation, AnswerKind kind, Decide&& decide);
    template <class Change>
    auto change(Change&& change);
    template <class Look>
    auto look(std::string_view operation, Look&& look);

    template <class Request>
    auto wait_for(const Request& request);
    template <class Request>
    auto sleep_until(const Request& request, SteadyInstant deadline);
    // Spins a little before sleep_until. Turns only: many fetches wait for activities.
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
    // Answers the watcher and removes it; it may be gone from then on. Answers its position.
    std::uint64_t dismiss(Watcher& watcher) DURABLE_REQUIRES(mutex_);
    void take_back(const TurnOffer& offer) DURABLE_EXCLUDES(mutex_);
    void take_back(const WorkOffer& offer) DURABLE_EXCLUDES(mutex_);
    std::optional<Duration> next_due(const FetchOrchestration&) DURABLE_REQUIRES(mutex_);
    std::optional<Duration> next_due(const durable::FetchWork&) DURABLE_REQUIRES(mutex_);
    FetchWaiters<FetchOrchestration>& fetch_waiters(const FetchOrchestration&)
        DURABLE_REQUIRES(mutex_);
    FetchWaiters<durable::FetchWork>& fetch_waiters(const durable::FetchWork&)
        DURABLE_REQUIRES(mutex_);
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
    // Deletes matching trees, some at a time; reduces `left` by the number of roots.
    [[nodiscard]] Result<> delete_matching(const InstanceFilter& filter,
                                           std::uint32_t& left,
                                           DeleteInstanceResult& sum,
                                           std::uint64_t& reached);
    // Adds to `roots` how many were deleted; earlier ones count for the limit.
    [[nodiscard]] Result<> delete_some(const InstanceFilter& filter,
                                       std::uint32_t& roots,
                                       DeleteInstanceResult& sum) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<PruneResult> prune_one(const std::string& instance,
                                                const PruneOptions& options)
        DURABLE_REQUIRES(mutex_);
    // From the front; removes finished ones from the span.
    [[nodiscard]] Result<> prune_some(std::span<const std::string>& instances,
                                      const PruneOptions& options,
                                      PruneResult& sum) DURABLE_REQUIRES(mutex_);
};

// A step that failed for want of an archived instance has changed nothing.
template <class Step>
auto LedgerProvider::with_all_here(Step step) {
    constexpr std::size_t most_reads =
        16; // one per level of a tree; then reads are made under the mutex
    std::vector<std::unique_ptr<DeferredRead>> reads;
    while (true) {
        {
            const MutexLock lock{mutex_};
            if (reads.size() < most_reads) {
                defer_reads();
            }
            auto done = step(lock);
            auto deferred = take_deferred_read();
            if (done || !deferred) {
                return done;
            }
            reads.push_back(std::move(deferred));
        }
        if (auto brought = reads.back()->run(); !brought) {
            return decltype(step(std::declval<const MutexLock&>())){
                std::unexpected{std::move(brought).error()}};
        }
    }
}

} // namespace durable::ledger
