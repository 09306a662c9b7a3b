// SqliteProvider: the provider contract on a SQLite file, and a back door for tests.
//
// Changes go through the Writer (group commit), reads through Readers, long polls through Waiting.
// LogSync says when a commit is on the disk. ForeignWatch looks for changes by other processes.

#pragma once

#include "base/random.hpp"
#include "providers/sqlite/concurrency/foreign_watch.hpp"
#include "providers/sqlite/concurrency/log_sync.hpp"
#include "providers/sqlite/concurrency/waiting.hpp"
#include "providers/sqlite/concurrency/writer.hpp"
#include "providers/sqlite/db/readers.hpp"
#include "providers/sqlite/store/lives.hpp"
#include "providers/sqlite/store/turns.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/sqlite.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::sqlite {

inline constexpr std::string_view memory_path = ":memory:"; // a store without a file

// What tests replace.
struct Machine {
    std::shared_ptr<Random> random;     // nullptr: the machine's
    std::optional<std::string> boot_id; // nullopt: the machine's
    bool keeps_locks = true;            // false: as on a file system that may lose them
};

class SqliteProvider final : public Provider, public ProviderAdmin {
 public:
    [[nodiscard]] static Result<std::shared_ptr<SqliteProvider>>
    open(const std::string& path, Options options, Machine machine = {});

    // `log_sync` may be nullptr.
    SqliteProvider(std::unique_ptr<Connection> connection,
                   std::unique_ptr<LogSync> log_sync,
                   Life life,
                   const std::string& path,
                   const Options& options,
                   std::shared_ptr<Random> random);
    ~SqliteProvider() override;

    std::string name() const override { return "sqlite"; }
    std::string version() const override;
    Durability durability() const noexcept override;
    std::size_t suitable_concurrency() const noexcept override;
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
    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override;
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

    // ---- The back door

    [[nodiscard]] Result<> corrupt_history(const std::string& instance);
    [[nodiscard]] Result<>
    corrupt_event(const std::string& instance, std::uint64_t execution_id, std::uint64_t event_id);
    [[nodiscard]] Result<> inject_orchestrator_row(const std::string& instance,
                                                   const std::string& text);
    [[nodiscard]] Result<> inject_worker_row(const std::string& text);
    [[nodiscard]] Result<std::uint32_t> max_attempt_count(const std::string& instance);
    // How many threads sleep in a fetch or a watch.
    [[nodiscard]] std::size_t sleepers() const { return waiting_.asleep(); }
    [[nodiscard]] std::uint64_t transactions() const { return writer_.transactions(); }
    [[nodiscard]] std::size_t calls() const { return writer_.calls(); } // for a transaction
    // Runs `user` while a reader is borrowed.
    [[nodiscard]] Result<> with_reader(const std::function<void()>& user) {
        return readers_.use([&](Connection&) { user(); });
    }
    // Lends the connection that writes.
    [[nodiscard]] Result<> inspect(const std::function<void(Connection&)>& user) {
        return writer_.use(user);
    }

 private:
    using AnswerWhen = Writer::AnswerWhen;

    [[nodiscard]] Result<>
    carry_out(std::string_view operation, AnswerWhen answer_when, Writer::Change change);
    // P12: returns when this version of the store is as durable as durability() says; nullopt:
    // everything that was committed so far.
    using StoreVersion = std::optional<std::uint64_t>;
    [[nodiscard]] Result<> ensure_durable(StoreVersion version);
    // Reads the newest state, on the disk or not, and answers its version.
    [[nodiscard]] Result<StoreVersion> read(const std::function<void(Connection&)>& reader);
    template <class Looking>
    auto look(std::string_view operation, Looking&& looking);

    // Runs a fetch's look at the queues in a transaction.
    [[nodiscard]] Result<> look(std::function<void()> announce, Writer::Change change);
    struct Lease {
        WorkLease lease;
        std::uint64_t version = 0; // of the store when it was taken
    };
    [[nodiscard]] static std::optional<Lease> take(Transaction& tx, const FetchWork& request);
    [[nodiscard]] static std::optional<Lease> with_version(const Transaction& tx,
                                                           std::optional<WorkLease> lease);
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_events(const std::string& instance,
                std::optional<std::uint64_t> execution_id,
                std::string_view operation);
    [[nodiscard]] Result<rules::Moment> expire_now(std::string_view operation);
    [[nodiscard]] bool look_around(); // ForeignWatch
    void look_for_ended_lives();
    // Writer::foreign_version. Gives the Writer up if the file is no longer the one with its name.
    [[nodiscard]] Result<std::int64_t> look_at_file();

    const bool in_memory_;
    const Options options_;
    const std::unique_ptr<LogSync> log_sync_; // nullptr: no promise needs one
    Life life_;
    Waiting waiting_;
    Writer writer_;
    Readers readers_;
    std::int64_t foreign_version_ = 0; // used by the thread of ForeignWatch, like the next one
    SteadyInstant lives_seen_at_;
    std::optional<ForeignWatch> foreign_; // last: its thread uses everything above
};

} // namespace durable::sqlite
