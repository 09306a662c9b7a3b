// ProviderAdmin: the management half of a provider: look inside, delete, prune.
//
// Reads show committed state only. An instance exists from start_instance on, or from the first
// commit that gives it a name and a version; messages alone do not make one. A pending instance
// counts as running for deletion: its start is still to come. A root is an instance without a
// parent, or whose parent does not exist.

#pragma once

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable {

struct InstanceInfo {
    std::string instance_id;
    std::string orchestration_name;
    std::string orchestration_version;
    std::uint64_t current_execution_id = 0;
    std::string status; // of the current execution; "Unknown" when it has no record
    std::optional<std::string> output;
    Instant created_at;
    Instant updated_at;
    std::optional<std::string> parent_instance_id;
    std::optional<Parked> parked{};
};

struct ExecutionInfo {
    std::uint64_t execution_id = 0;
    std::string status;
    std::optional<std::string> output;
    Instant started_at;
    std::optional<Instant> completed_at;
    std::uint64_t event_count = 0;
};

struct SystemMetrics {
    std::uint64_t total_instances = 0;
    std::uint64_t total_executions = 0;
    std::uint64_t running_instances = 0; // pending ones not included
    std::uint64_t pending_instances = 0;
    std::uint64_t completed_instances = 0;
    std::uint64_t failed_instances = 0;
    std::uint64_t total_events = 0;
    std::uint64_t quarantined_items = 0;
    std::uint64_t expired_messages = 0; // waited in vain for their instance to start
};

struct QueueDepths { // items not under a live lease, delayed ones included
    std::uint64_t orchestrator_queue = 0;
    std::uint64_t worker_queue = 0;
    std::uint64_t timer_queue = 0; // always 0: timers are delayed messages
    // When the next delay, timer or lease ends, so that a fetch can take an item that it cannot
    // take now. A provider that does not know leaves it empty; tests that skip time then use their
    // own.
    std::optional<Instant> next_due{};
};

// All criteria must hold; the limit is applied last.
struct InstanceFilter {
    std::optional<std::vector<std::string>> instance_ids{}; // an empty list matches nothing
    std::optional<Instant> completed_before{};              // strictly
    std::optional<std::uint32_t> limit{};                   // nullopt: 1000
};

struct PruneOptions {
    // Counts the current execution; nullopt, 0 and 1 are equal.
    std::optional<std::uint32_t> keep_last{};
    std::optional<Instant> completed_before{};
};

struct DeleteInstanceResult {
    std::uint64_t instances_deleted = 0;
    std::uint64_t executions_deleted = 0;
    std::uint64_t events_deleted = 0;
    std::uint64_t queue_messages_deleted = 0;
};

struct PruneResult {
    std::uint64_t instances_processed = 0;
    std::uint64_t executions_deleted = 0;
    std::uint64_t events_deleted = 0;
};

struct InstanceTree {
    std::string root_id;
    std::vector<std::string> all_ids; // the root first, parents before children

    [[nodiscard]] bool is_root_only() const noexcept { return all_ids.size() == 1; }
    [[nodiscard]] std::size_t size() const noexcept { return all_ids.size(); }
};

// A stored queue item that was taken out of the way with its bytes intact: it does not decode, or
// it expired waiting for its instance to start. Of the latter only the newest are kept.
struct QuarantinedItem {
    std::uint64_t id = 0;
    std::string queue;                   // "orchestrator" or "worker"
    std::optional<std::string> instance; // when the store knew it
    std::string text;
    std::string reason;
    Instant quarantined_at;
    bool operator==(const QuarantinedItem&) const = default;
};

// Work that does not go on: given back with a reason, or deliverable and not fetched.
struct ParkedWork {
    enum class Kind : std::uint8_t { turn, activity };

    Kind kind = Kind::turn;
    std::string instance;
    std::string name;    // of the orchestration or activity whose code it needs; empty: none
    std::string version; // of the orchestration; empty: any
    std::uint32_t attempts = 0;
    Instant since;      // of Parked, or when its oldest message or the activity became deliverable
    std::string reason; // of Parked; empty: no fetch has taken it
    bool operator==(const ParkedWork&) const = default;
};

class ProviderAdmin {
 public:
    ProviderAdmin() = default;
    ProviderAdmin(const ProviderAdmin&) = delete;
    ProviderAdmin& operator=(const ProviderAdmin&) = delete;
    virtual ~ProviderAdmin() = default;

    [[nodiscard]] virtual Result<std::vector<std::string>> list_instances() = 0; // newest first
    [[nodiscard]] virtual Result<std::vector<std::string>>
    list_instances_by_status(const std::string& status) = 0; // newest first
    [[nodiscard]] virtual Result<std::vector<std::uint64_t>>
    list_executions(const std::string& instance) = 0;
    [[nodiscard]] virtual Result<std::vector<HistoryEvent>>
    read_history_with_execution_id(const std::string& instance, std::uint64_t execution_id) = 0;
    [[nodiscard]] virtual Result<std::vector<HistoryEvent>>
    read_history(const std::string& instance) = 0;
    [[nodiscard]] virtual Result<std::uint64_t>
    latest_execution_id(const std::string& instance) = 0; // 1 when there is none

    [[nodiscard]] virtual Result<InstanceInfo> get_instance_info(const std::string& instance) = 0;
    [[nodiscard]] virtual Result<ExecutionInfo> get_execution_info(const std::string& instance,
                                                                   std::uint64_t execution_id) = 0;
    [[nodiscard]] virtual Result<SystemMetrics> get_system_metrics() = 0;
    [[nodiscard]] virtual Result<QueueDepths> get_queue_depths() = 0;
    [[nodiscard]] virtual Result<std::vector<QuarantinedItem>> list_quarantined() = 0;
    // Instances that were given back with a reason, and turns and activities that have been
    // deliverable for at least `waited` and that no fetch has taken: for example because no node
    // has their code. Oldest first, by `since`; at most `limit`.
    [[nodiscard]] virtual Result<std::vector<ParkedWork>> list_parked(Duration waited,
                                                                      std::uint32_t limit) = 0;

    [[nodiscard]] virtual Result<std::vector<std::string>>
    list_children(const std::string& instance) = 0; // direct ones; unknown: empty
    [[nodiscard]] virtual Result<std::optional<std::string>>
    get_parent_id(const std::string& instance) = 0; // unknown: not_found
    // Unknown: a tree of that id alone.
    [[nodiscard]] virtual Result<InstanceTree> get_instance_tree(const std::string& instance) = 0;

    // Deletes a root with its whole tree. Its error messages are for people: they say "not found",
    // "root" (which one to delete instead), "running".
    //   not_found      no such instance            not_a_root  it has a parent, even with force
    //   still_running  some of the tree runs and force is false
    [[nodiscard]] virtual Result<DeleteInstanceResult> delete_instance(const std::string& instance,
                                                                       bool force) = 0;

    // Deletes exactly these, all or none. Ids that do not exist are tolerated.
    //   has_children   a child outside the list would be orphaned, even with force
    [[nodiscard]] virtual Result<DeleteInstanceResult>
    delete_instances_atomic(const std::vector<std::string>& instances, bool force) = 0;

    // Deletes the trees of matching roots that have ended. Running roots and children are passed
    // over; so is an instance between two executions, which is alive although it shows an end.
    [[nodiscard]] virtual Result<DeleteInstanceResult>
    delete_instance_bulk(const InstanceFilter& filter) = 0;

    // Removes old executions, never the current one and never a running one. KV is untouched.
    [[nodiscard]] virtual Result<PruneResult> prune_executions(const std::string& instance,
                                                               const PruneOptions& options) = 0;
    [[nodiscard]] virtual Result<PruneResult>
    prune_executions_bulk(const InstanceFilter& filter, const PruneOptions& options) = 0;
};

} // namespace durable
