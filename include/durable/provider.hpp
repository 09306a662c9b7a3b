// Provider: the storage contract. Everything durable passes through these calls.
//
// A provider stores histories, two queues and the leases on them, and keeps the promises below. It
// never runs user code and never judges what an orchestration does: it accepts any turn that holds
// a valid lease. docs/provider-contract.md says how to write one; validation.hpp tests it.
//
//   P1  One owner       At most one unexpired lease per instance, and per worker item.
//   P2  All or nothing  A turn commit applies every effect, or none and keeps the lease.
//   P3  Fencing         A lease that expired or was replaced changes nothing: lock_lost.
//   P4  At least once   A message stays queued until the commit of a turn that was given it.
//   P5  Order           Messages of an instance and worker items come out as they went in, a timer
//                       as if it had gone in when it was due; instances by their oldest deliverable
//                       message. Abandoned work keeps its place.
//   P6  No starvation   What cannot be delivered (no start yet, not decodable, other version, other
//                       tag, other session) waits aside and never stops anything else.
//   P7  Attempts        Every successful fetch counts one attempt on each item it returns, before
//                       the work runs. Nothing else raises the count.
//   P8  Append only     A commit never reads or rewrites history. Event ids are unique, and not 0.
//   P9  Two KV layers   Changes of the running execution are seen by readers at once, and by turns
//                       only after the execution ended.
//   P10 Nothing silent  What cannot be decoded is quarantined and listed; what expires is counted.
//   P11 Wake-ups        A waiting fetch or watch returns as soon as its work exists.
//   P12 Durability      What a call reported as done survives what durability() says. Exceptions:
//                       leases need not survive; and the end of a turn (ack_orchestration_item) or
//                       of an activity (ack_work_item) may be reported earlier, if nothing that
//                       depends on it leaves the process before it survives. A crash in between
//                       looks like one just before the call.
//   P13 Clean failure   A fetch that answers nothing or an error has locked and counted nothing.
//   P14 Code            A fetch that says which code its node has gets nothing else; what it is not
//                       given is neither counted nor hidden, and goes to the fetch that has its
//                       code.
//   P15 Starting        Of all callers of start_instance for one id exactly one makes the
//                       instance, which exists from then on. The others get already_exists.
//   P16 Suspects        Work that was fetched suspect_after times and never ended may have killed
//                       its process: fetches that ask for it get one such piece at a time.
//
// Thread safety: any method, any thread, any time. Calls may block; none calls back into the caller
// except FetchOrchestration::cached, which a provider may call from any thread, also from one that
// makes another call, as long as the fetch has not returned.

#pragma once

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>
#include <durable/version.hpp>
#include <durable/work_item.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace durable {

class ProviderAdmin; // provider_admin.hpp

// What an acknowledged call survives.
enum class Durability : std::uint8_t { none, process_crash, power_loss };

// `pending` is the state of an instance that was started and has not had a turn yet (P15). No
// execution is stored with it, and a commit that says it is invalid_argument.
enum class ExecutionStatus : std::uint8_t { running, completed, failed, continued_as_new, pending };

// "Running", "Completed", "Failed", "ContinuedAsNew", "Pending": as stored and shown.
[[nodiscard]] std::string_view name_of(ExecutionStatus status) noexcept;
[[nodiscard]] std::optional<ExecutionStatus> parse_execution_status(std::string_view text) noexcept;

struct KvEntry {
    std::string value;
    std::uint64_t last_updated_at_ms = 0;
    bool operator==(const KvEntry&) const = default;
};

using KvSnapshot = std::map<std::string, KvEntry, std::less<>>;

// ---- Turns

// Which executions a dispatcher can replay: any range may contain the pinned version. Executions
// without a pinned version match every filter but the empty one, which matches nothing at all.
struct CapabilityFilter {
    std::vector<VersionRange> supported;

    [[nodiscard]] bool matches(const Version& pinned) const noexcept;
};

// "I already hold this execution's history up to and including this event."
struct CachedHistory {
    std::uint64_t execution_id = 0;
    std::uint64_t last_event_id = 0;
    // OrchestrationItem::incarnation of the turn that filled the cache; 0: unknown, not compared.
    std::uint64_t incarnation = 0;
};

// Asked from any thread, while the provider holds its own locks: answer quickly, never throw, never
// call a provider.
using CachedHistoryLookup = std::function<std::optional<CachedHistory>(std::string_view instance)>;

// P14: the orchestrations that a node can run.
//
// A turn needs the code of its instance: name and version of its row while its execution runs or is
// pending, those of the message that begins the next execution otherwise. A message that names no
// version needs any version of that name. An instance that has ended needs no code.
struct OrchestrationCode {
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>> versions; // by name
    // Ending needs no code: a fetch without the code gets an instance as well when one of its
    // messages is a CancelInstance that has been deliverable for so long. nullopt: never.
    std::optional<Duration> cancelled_for;

    // An empty version, or "unknown": any.
    [[nodiscard]] bool has(std::string_view name, std::string_view version) const noexcept;
};

// P16: work that was fetched so often and never ended is a suspect.
inline constexpr std::uint32_t suspect_after = 2;

struct FetchOrchestration {
    Duration lock_timeout{}; // zero or less: a lease that is over at once
    Duration poll_timeout{}; // zero: answer at once
    std::optional<CapabilityFilter> filter;
    CachedHistoryLookup cached;                      // may be empty
    std::stop_token stop;                            // ends the wait early, with nothing fetched
    std::shared_ptr<const OrchestrationCode> code{}; // P14; nullptr: all code there is
    // P16: no suspect while a fetch of this provider object that said this, for turns or
    // activities, has one under a live lease.
    bool one_suspect = false;
};

// One leased instance with all its deliverable messages.
struct OrchestrationItem {
    std::string instance;
    std::string orchestration_name;
    std::string version; // "unknown" when no version is known
    // The current one; without a row the latest that has history, else 1, whatever messages say.
    std::uint64_t execution_id = 0;
    // Distinguishes instances that had the same id one after the other; 0: the provider cannot.
    std::uint64_t incarnation = 0;
    // Events of that execution with an id above history_after, ascending. history_after is 0 unless
    // the caller's cache was used; prefixes never change, so a cached one of the same incarnation
    // is always right.
    std::uint64_t history_after = 0;
    std::vector<HistoryEvent> history;
    std::vector<WorkItem> messages; // oldest first
    std::optional<std::string>
        history_error;      // set: history and kv_snapshot are empty, the lease is held
    KvSnapshot kv_snapshot; // P9: what earlier executions left; empty when history_after > 0
    std::string lock_token;
    std::uint32_t attempt_count = 0; // the largest among the messages
};

struct ExecutionMetadata {
    std::optional<ExecutionStatus> status;
    std::optional<std::string> output; // result, error text or next input
    std::optional<std::string> orchestration_name;
    std::optional<std::string> orchestration_version;
    std::optional<std::string> parent_instance_id; // may be set later, never replaced
    std::optional<Version> pinned_version;
    bool operator==(const ExecutionMetadata&) const = default;
};

// Why an instance was given back and does not go on; until its next commit.
struct Parked {
    std::string reason; // for a person to read
    Instant since;      // when this reason was first given
    bool operator==(const Parked&) const = default;
};

struct AbandonTurn {
    std::string lock_token;
    std::optional<Duration> delay; // how long its messages stay hidden; newcomers are delivered
    bool ignore_attempt = false;
    // With a delay: the whole instance stays hidden that long, newcomers included, so that no later
    // message overtakes one that could not be handled. Only a CancelInstance ends it early.
    bool whole_instance = false;
    std::optional<std::string> parked; // Parked::reason; UTF-8
};

struct ActivityId {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::uint64_t activity_id = 0;
    auto operator<=>(const ActivityId&) const = default;
};

// A turn's whole consequence, applied in the order of the fields.
struct TurnCommit {
    std::string lock_token;
    std::uint64_t execution_id = 1;
    ExecutionMetadata metadata;
    std::vector<HistoryEvent> history_delta; // also carries custom status and KV changes
    std::vector<WorkItem> worker_items;      // ActivityExecute only
    std::vector<ActivityId>
        cancelled_activities; // after worker_items: schedule + cancel nets to nothing
    std::vector<WorkItem> orchestrator_items; // any instance; TimerFired is hidden until fire_at_ms
    std::vector<std::uint64_t>
        cancelled_timers; // ids of this execution's TimerFired that must not come
};

// ---- Activities

// Which tags a worker serves.
class TagFilter {
 public:
    enum class Mode : std::uint8_t { default_only, tags, default_and, any, none };

    static constexpr std::size_t max_tags = 5;

    TagFilter() = default; // untagged items only
    [[nodiscard]] static TagFilter default_only() { return {}; }
    [[nodiscard]] static TagFilter any() { return TagFilter{Mode::any, {}}; }
    [[nodiscard]] static TagFilter none() { return TagFilter{Mode::none, {}}; }
    // 1 to 5 tags: "at most 5 tags", "requires at least one tag".
    [[nodiscard]] static Result<TagFilter> tags(std::vector<std::string> tags);
    [[nodiscard]] static Result<TagFilter> default_and(std::vector<std::string> tags);

    [[nodiscard]] Mode mode() const noexcept { return mode_; }
    [[nodiscard]] const std::vector<std::string>& listed() const noexcept {
        return tags_;
    } // sorted
    [[nodiscard]] bool matches(const std::optional<std::string>& tag) const noexcept;

    bool operator==(const TagFilter&) const = default;

 private:
    TagFilter(Mode mode, std::vector<std::string> tags) : mode_{mode}, tags_{std::move(tags)} {}

    Mode mode_ = Mode::default_only;
    std::vector<std::string> tags_;
};

// Claims sessions for `owner_id`: items of a session go to one owner while its lease lives.
struct SessionClaim {
    std::string owner_id;
    Duration lock_timeout{};
    bool claim_new = true; // false: items of sessions that this owner holds, no further ones
};

struct FetchWork {
    Duration lock_timeout{};
    Duration poll_timeout{};
    std::optional<SessionClaim> session; // nullopt: items without a session only
    TagFilter tags;
    std::stop_token stop;
    // P14: the names of the activities that the node can run; nullptr: all.
    std::shared_ptr<const std::set<std::string, std::less<>>> code{};
    bool one_suspect = false; // as in FetchOrchestration
};

struct WorkLease {
    work::ActivityExecute item;
    std::string lock_token;
    std::uint32_t attempt_count = 0;
};

// ---- Reading

struct CustomStatus {
    std::optional<std::string> status; // nullopt: cleared
    std::uint64_t version = 0;         // raised once by a commit that sets or clears it
    bool operator==(const CustomStatus&) const = default;
};

struct InstanceStats { // of the current execution
    std::uint64_t history_event_count = 0;
    std::uint64_t history_size_bytes = 0;
    std::uint64_t queue_pending_count = 0; // messages carried into this execution
    std::uint64_t kv_user_key_count = 0;   // both layers merged
    std::uint64_t kv_total_value_bytes = 0;
    bool operator==(const InstanceStats&) const = default;
};

// A lease to be renewed: it then ends `extend_for` from now.
struct LeaseRenewal {
    enum class Of : std::uint8_t { turn, activity };
    Of of = Of::turn;
    std::string lock_token;
    Duration extend_for{};
};

// What clients wait for, without any history.
struct InstanceState {
    std::uint64_t revision =
        0; // grows with every commit and with deletion; 0: no such instance yet
    bool exists = false;
    std::string orchestration_name;
    std::string orchestration_version;
    std::uint64_t execution_id = 0;
    ExecutionStatus status = ExecutionStatus::running;
    std::optional<std::string> output;
    // Failed: why, as the OrchestrationFailed event of that execution says. nullopt: it has not
    // failed, or no such event decodes; `output` has the text then.
    std::optional<ErrorDetails> failure{};
    CustomStatus custom_status;
    // OrchestrationItem::incarnation, also of an instance that does not exist yet but whose start
    // is queued. 0: neither, or the provider cannot tell incarnations apart.
    std::uint64_t incarnation = 0;
    std::optional<Parked> parked;
};

// Waits until the instance's revision differs from `seen_revision`, or the time is up.
struct WatchInstance {
    std::string instance;
    std::uint64_t seen_revision = 0;
    Duration timeout{}; // zero: read now
    std::stop_token stop;
    // The caller waits only for the end of the instance: completion, failure or deletion. A hint: a
    // provider may answer any change, but each answer wakes a thread and may wait for a disk.
    bool ended_only = false;
};

// ---- The contract

class Provider {
 public:
    Provider() = default;
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;
    virtual ~Provider() = default;

    [[nodiscard]] virtual std::string name() const = 0;               // "memory"
    [[nodiscard]] virtual std::string version() const = 0;            // of the provider
    [[nodiscard]] virtual Durability durability() const noexcept = 0; // P12

    // How many concurrent calls suit the store, which batches them into transactions: a runtime
    // without configured thread numbers makes no fewer. 0: no preference.
    [[nodiscard]] virtual std::size_t suitable_concurrency() const noexcept { return 0; }

    // The management half, owned by the provider; nullptr when it has none.
    [[nodiscard]] virtual ProviderAdmin* as_management_capability() noexcept { return nullptr; }

    // Leases the instance with the oldest deliverable message, with all its visible messages, or
    // answers nullopt when no instance is eligible.  [P1 P4 P5 P6 P7 P11 P13]
    [[nodiscard]] virtual Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) = 0;

    // Ends a turn: consumes the messages it was given, stores its outcome, frees the instance. The
    // instance is the one that the token leases, whatever the events say.  [P2 P3 P4 P8 P9 P12]
    //   lock_lost         token unknown ("Invalid lock token") or expired
    //   invalid_argument  event id 0 or taken, wrong kind of item for a queue, text not UTF-8
    [[nodiscard]] virtual Result<> ack_orchestration_item(const TurnCommit& commit) = 0;

    // Gives a turn back unchanged. Works on an expired lease until another fetch takes over.
    // [P3 P5 P7]
    //   lock_lost         as above
    //   invalid_argument  the reason is not UTF-8; the lease stays
    [[nodiscard]] virtual Result<> abandon_orchestration_item(const AbandonTurn& abandon) = 0;

    // Renews many leases in one call, of turns and of activities; answers the tokens of those that
    // are lost, in their order. An error is not about a lease: some may have been renewed. A
    // runtime renews with this call. A provider that does not override it renews one by one.  [P3]
    [[nodiscard]] virtual Result<std::vector<std::string>>
    renew_leases(const std::vector<LeaseRenewal>& leases);

    // The lease ends `extend_for` from now. Only a live lease can be renewed.  [P3]
    [[nodiscard]] virtual Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                                                 Duration extend_for) = 0;

    // The history of the latest execution, or of one. Unknown: empty. Undecodable: corrupt.
    [[nodiscard]] virtual Result<std::vector<HistoryEvent>> read(const std::string& instance) = 0;
    [[nodiscard]] virtual Result<std::vector<HistoryEvent>>
    read_with_execution(const std::string& instance, std::uint64_t execution_id) = 0;

    // For tests and tools, not used by the engine: appends without a lease, all events or none.
    // [P2 P8 P12]
    [[nodiscard]] virtual Result<>
    append_with_execution(const std::string& instance,
                          std::uint64_t execution_id,
                          const std::vector<HistoryEvent>& events) = 0;

    // For tests and tools: the engine queues activities with the commit of a turn. Queues one,
    // whose instance need not exist.  [P5 P12]
    [[nodiscard]] virtual Result<> enqueue_for_worker(const WorkItem& item) = 0;

    // Leases the oldest eligible activity. Its orchestration's fate does not matter: cancellation
    // removes the item, nothing else does.  [P1 P5 P6 P7 P11 P13]
    [[nodiscard]] virtual Result<std::optional<WorkLease>>
    fetch_work_item(const FetchWork& request) = 0;

    // Removes the item and queues its completion (ActivityCompleted or ActivityFailed), both or
    // neither; nullopt just removes.  [P2 P3 P12]
    [[nodiscard]] virtual Result<> ack_work_item(const std::string& lock_token,
                                                 const std::optional<WorkItem>& completion) = 0;

    // lock_lost is how a running activity learns that it was cancelled.  [P3]
    [[nodiscard]] virtual Result<> renew_work_item_lock(const std::string& lock_token,
                                                        Duration extend_for) = 0;

    // Gives an activity back; works on an expired lease until another fetch takes over.  [P3 P5 P7]
    [[nodiscard]] virtual Result<> abandon_work_item(const std::string& lock_token,
                                                     std::optional<Duration> delay,
                                                     bool ignore_attempt) = 0;

    // Extends the live sessions of these owners that were active within `idle_timeout`; how many.
    [[nodiscard]] virtual Result<std::uint64_t> renew_session_lock(
        const std::vector<std::string>& owner_ids, Duration extend_for, Duration idle_timeout) = 0;

    // Forgets expired sessions that no queued item names; how many. Expiry alone decides: an
    // expired session is idle, whatever `idle_timeout` says.
    [[nodiscard]] virtual Result<std::uint64_t>
    cleanup_orphaned_sessions(Duration idle_timeout) = 0;

    // Makes an instance, pending, with the start as its first message, hidden for `delay`. Messages
    // that come meanwhile wait for it and do not expire.  [P5 P12 P15]
    //   already_exists    the instance exists, or a start of it is queued
    [[nodiscard]] virtual Result<> start_instance(const work::StartOrchestration& start,
                                                  std::optional<Duration> delay) = 0;

    // Queues a message, hidden for `delay`; a TimerFired also until its fire_at_ms. Never creates
    // an instance: messages for one that has not started wait for it, P6.  [P4 P5 P12]
    [[nodiscard]] virtual Result<> enqueue_for_orchestrator(const WorkItem& item,
                                                            std::optional<Duration> delay) = 0;

    // For tools, and for callers that poll as the reference's do; Client reads watch_instance.
    // Something only when the stored version is above `last_seen_version`.
    [[nodiscard]] virtual Result<std::optional<CustomStatus>>
    get_custom_status(const std::string& instance, std::uint64_t last_seen_version) = 0;

    // Both KV layers merged, one consistent view.  [P9]
    [[nodiscard]] virtual Result<std::optional<std::string>>
    get_kv_value(const std::string& instance, const std::string& key) = 0;
    [[nodiscard]] virtual Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) = 0;

    // nullopt when there is no such instance.
    [[nodiscard]] virtual Result<std::optional<InstanceStats>>
    get_instance_stats(const std::string& instance) = 0;

    // The state of an instance, waiting for a change first.  [P11]
    [[nodiscard]] virtual Result<InstanceState> watch_instance(const WatchInstance& request) = 0;
};

} // namespace durable
