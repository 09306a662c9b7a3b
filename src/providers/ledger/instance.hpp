// What the ledger holds about one instance id: its row, executions, KV, messages and turn lease.
//
// There is one Instance per id that has a row, a message, an activity or history. It may have no
// row yet; `name` says whether the row exists. Kept small: a store may hold a million of them.

#pragma once

#include "base/blocks.hpp"
#include "providers/ledger/due_heap.hpp"
#include "providers/ledger/history_log.hpp"
#include "providers/ledger/packed_text.hpp"
#include "providers/ledger/record.hpp"
#include "providers/ledger/token.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::ledger {

struct Instance;
struct ReadyTurns; // turn_queue.hpp
struct WorkEntry;  // work_queue.hpp

// A row of the orchestrator queue.
struct Message : InBlocks {
    enum class Place : std::uint8_t {
        delayed, // in the heap of delayed messages
        visible, // in Inbox::visible
        parked,  // likewise, and in the heap of those that may expire
    };

    Seq seq = 0;
    Instance* instance = nullptr;
    Message* previous = nullptr; // of the same instance, ascending by seq; of the first: the last
    Message* next = nullptr;
    Message* same_hash = nullptr;       // the queue's: by seq
    Message* same_timer_hash = nullptr; // by instance, execution and timer
    Instant visible_at;
    Instant hidden_until;           // by an abandon; the default: never was
    PackedText own_text;            // see keep()
    std::uint64_t execution_id = 0; // of a TimerFired, else 0
    std::uint64_t timer_id = 0;
    std::uint32_t attempts = 0;
    std::uint32_t slot = no_slot;
    std::uint8_t kind = 0; // index in WorkItem
    Place place = Place::visible;
    bool doomed = false; // compact() will remove it

    [[nodiscard]] Instant deliverable_at() const noexcept {
        return std::max(visible_at, hidden_until);
    }

    [[nodiscard]] bool suspect() const noexcept { return is_suspect(attempts); } // P16
    [[nodiscard]] bool cancels() const noexcept { return kind == item_kind<work::CancelInstance>; }

    // Its JSON. The text of a plain timer follows from the members above and is not stored: a
    // million sleeping instances have one each. Call keep() when all members are set.
    [[nodiscard]] std::string text() const;
    void keep(std::string_view text);
};

// The right to run an instance's next turn. P3: an expired lease stays until another fetch takes
// over.
struct TurnLease {
    Token token;
    Instance* instance = nullptr;
    SteadyInstant until;
    std::vector<Seq> messages;    // that the turn was given
    bool suspect = false;         // P16: it counts in SuspectHold
    std::uint32_t slot = no_slot; // no_slot: known to be expired
};

struct Execution {
    std::uint64_t id = 0;
    bool recorded = false; // false: it has history, but no commit ever named it
    bool completed = false;
    ExecutionStatus status = ExecutionStatus::running;
    Instant started_at;
    Instant ended_at; // when completed
    std::unique_ptr<std::string> output;
    const Version* pinned = nullptr; // interned
    HistoryLog history;

    [[nodiscard]] std::optional<Instant> completed_at() const noexcept {
        return completed ? std::optional{ended_at} : std::nullopt;
    }
    void set_completed_at(std::optional<Instant> at) noexcept {
        completed = at.has_value();
        ended_at = at.value_or(Instant{});
    }
};

using Executions = std::vector<Execution, BlockAllocator<Execution>>;

// Visible messages and the lease. Most instances wait, for a timer for example, and have no Inbox.
struct Inbox : InBlocks {
    std::vector<Message*> visible; // in order of becoming visible; sorted by a fetch
    Seq first_visible = 0;         // the lowest of them
    Instant hidden_until;          // by an abandon; the default: never, or a commit ended it
    Instant hidden_at;             // when the abandon came
    Seq hidden_seq = 0;            // messages from here on were queued after that
    Instant cancelled_at;          // while it is ready: see ReadyTurns::by_cancellation
    TurnLease* lease = nullptr;
    ReadyTurns* ready = nullptr;      // where it stands while its place is `ready`
    WorkEntry* work = nullptr;        // its items in the worker queue
    std::uint32_t visible_starts = 0; // visible messages that can start it

    [[nodiscard]] bool unused() const noexcept {
        return visible.empty() && hidden_until == Instant{} && lease == nullptr && work == nullptr;
    }
};

// The parts that few instances use.
struct Extras {
    struct Change {
        std::optional<std::string> value; // nullopt: deleted
        std::uint64_t last_updated_at_ms = 0;
    };

    CustomStatus custom_status;
    std::optional<Parked> parked;
    KvSnapshot kv;                                         // what ended executions left
    std::map<std::string, Change, std::less<>> kv_changes; // by the running execution
};

struct Instance : InBlocks {
    enum class Place : std::uint8_t {
        idle,   // nothing deliverable
        ready,  // in the ready heap of its pinned version
        hidden, // abandoned with a delay: in the heap of hidden instances
        leased, // its lease is in the heap of leases
        parked, // messages, but nothing that could start it yet
    };
    enum class Started : std::uint8_t { unknown, yes, no };
    // Whether an Archive holds a copy. A call that changes the instance sets `none` first.
    enum class Copy : std::uint8_t { none, being_made, made };

    PackedText own_id;
    Instance* same_hash = nullptr; // the table's
    Instance* previous = nullptr;  // of all, in order of first mention
    Instance* next = nullptr;
    std::uint64_t incarnation = 0; // of the id: deleted and made again, it has another
    std::uint64_t number = 0;      // in order of creation; never used twice; 0: no row
    std::uint64_t revision = 0;

    // The row. All strings are pooled.
    const std::string* name = nullptr; // nullptr: no row
    const std::string* version = nullptr;
    const std::string* parent = nullptr;
    Instant created_at;
    Instant updated_at;
    std::uint64_t current_execution = 0;

    Executions executions; // ascending by id
    std::unique_ptr<Extras> extras;

    Message* messages = nullptr;      // the first of all
    std::unique_ptr<Inbox> under_way; // see inbox()

    std::uint32_t slot = no_slot;        // in the heap of its place
    std::uint32_t status_slot = no_slot; // in the list of its status
    std::uint32_t walked = 0;            // the number of the last walk that visited it
    std::uint8_t status_list = 0;
    Place place : 3 = Place::idle;
    bool hidden : 1 = false;
    Started started : 2 = Started::unknown; // does stored history start it? (asked without a row)
    Copy copy : 2 = Copy::none;

    [[nodiscard]] std::string_view id() const noexcept { return own_id.view(); }
    [[nodiscard]] bool exists() const noexcept { return name != nullptr; }
    // P15: started, and nothing has been committed.
    [[nodiscard]] bool pending() const noexcept { return exists() && executions.empty(); }

    [[nodiscard]] Execution* find_execution(std::uint64_t execution_id) noexcept;
    [[nodiscard]] const Execution* find_execution(std::uint64_t execution_id) const noexcept;
    [[nodiscard]] Execution& execution(std::uint64_t execution_id); // made when missing
    [[nodiscard]] const Execution* current() const noexcept {       // nullptr: no record of it
        const auto* found = find_execution(current_execution);
        return found != nullptr && found->recorded ? found : nullptr;
    }
    // As listed; nullopt: there is no record of the current execution.
    [[nodiscard]] std::optional<ExecutionStatus> status() const noexcept {
        if (pending()) {
            return ExecutionStatus::pending;
        }
        const auto* found = current();
        return found == nullptr ? std::nullopt : std::optional{found->status};
    }
    [[nodiscard]] bool ended() const noexcept { // completed or failed
        const auto* found = current();
        return found != nullptr && (found->status == ExecutionStatus::completed ||
                                    found->status == ExecutionStatus::failed);
    }
    // The highest recorded execution; 1 when there is none.
    [[nodiscard]] std::uint64_t latest_execution() const noexcept;
    [[nodiscard]] Extras& extra();
    [[nodiscard]] const Inbox& inbox() const noexcept; // an empty one when there is none
    [[nodiscard]] Inbox& open_inbox();                 // made when missing
    void close_inbox() noexcept;                       // if nothing is under way any more
};

// P15: is a StartOrchestration queued, also a delayed one?
[[nodiscard]] bool has_queued_start(const Instance& instance) noexcept;

// For an instance without a row: the start event in the history of its latest execution; nullopt
// when there is none or it does not decode.
[[nodiscard]] std::optional<history::OrchestrationStarted> stored_start(const Instance& instance);

} // namespace durable::ledger
