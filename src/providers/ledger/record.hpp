// Record: one state-changing call, decided and ready to be applied.
//
// A record holds everything that applying needs: assigned sequence numbers, the wall time, the raw
// JSON texts. So applying cannot fail, and the same records applied in the same order to an empty
// ledger give the same state: that is how a journal is replayed. Leases are no part of it.

#pragma once

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace durable::ledger {

// Position in a queue: ascending, never used twice, shared by both queues.
using Seq = std::uint64_t;

enum class Queue : std::uint8_t { orchestrator, worker };

// The index of a kind of work item in WorkItem.
template <class Item>
inline constexpr auto kind_of =
    static_cast<std::uint8_t>(WorkItem{std::in_place_type<Item>}.index());

struct NewMessage {
    Seq seq = 0;
    std::string instance;
    Instant visible_at;
    std::string text;
    std::uint8_t kind = 0;          // index in WorkItem
    std::uint64_t execution_id = 0; // of a TimerFired, else 0
    std::uint64_t timer_id = 0;     // likewise
    bool operator==(const NewMessage&) const = default;
};

struct NewWork {
    Seq seq = 0;
    ActivityId activity;
    std::optional<std::string> session;
    std::optional<std::string> tag;
    std::string name; // of the activity, as in the text; not stored beside it
    Instant visible_at;
    std::string text;
    bool operator==(const NewWork&) const = default;
};

struct NewEvent {
    std::uint64_t id = 0;
    std::string text;
    bool operator==(const NewEvent&) const = default;
};

struct KvChange {
    enum class Kind : std::uint8_t { set, clear, clear_all };
    Kind kind = Kind::set;
    std::string key;
    std::string value;
    std::uint64_t last_updated_at_ms = 0;
    bool operator==(const KvChange&) const = default;
};

// What a commit does to the custom status; a missing change leaves it alone.
struct StatusChange {
    std::optional<std::string> status; // nullopt clears
    bool operator==(const StatusChange&) const = default;
};

namespace op {

struct EnqueueMessage {
    NewMessage message;
    bool operator==(const EnqueueMessage&) const = default;
};

struct StartInstance { // P15: makes the row as well
    NewMessage message;
    std::string name;
    std::string version; // "unknown" when the start names none
    std::optional<std::string> parent;
    bool operator==(const StartInstance&) const = default;
};

struct EnqueueWork {
    NewWork work;
    bool operator==(const EnqueueWork&) const = default;
};

struct FetchTurn { // counts an attempt
    std::string instance;
    std::vector<Seq> messages;
    bool operator==(const FetchTurn&) const = default;
};

struct FetchWork { // counts an attempt
    Seq seq = 0;
    bool operator==(const FetchWork&) const = default;
};

struct CommitTurn {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::vector<Seq> consumed;
    ExecutionMetadata metadata;
    std::vector<NewEvent> events;
    std::optional<StatusChange> custom_status;
    std::vector<KvChange> kv;
    std::vector<NewWork> work;
    std::vector<Seq> cancelled_work;
    std::vector<NewMessage> messages;
    std::vector<Seq> cancelled_messages;
    bool operator==(const CommitTurn&) const = default;
};

struct AbandonTurn {
    std::string instance;
    std::optional<Instant> hidden_until;  // the whole instance
    std::vector<Seq> uncounted;           // messages that get their attempt back
    std::optional<Instant> delayed_until; // these messages
    std::vector<Seq> delayed;
    std::optional<std::string> parked; // the reason
    bool operator==(const AbandonTurn&) const = default;
};

struct FinishWork {
    Seq seq = 0;
    std::optional<NewMessage> completion;
    bool operator==(const FinishWork&) const = default;
};

struct AbandonWork {
    Seq seq = 0;
    Instant visible_at;
    bool uncounted = false;
    bool operator==(const AbandonWork&) const = default;
};

struct Append {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::vector<NewEvent> events;
    bool operator==(const Append&) const = default;
};

struct Delete {
    std::vector<std::string> instances;
    std::vector<Seq> starts; // of their children, in queues that stay
    // Starts in queues that go, by parents that stay: each begins the next life of its id.
    struct Kept {
        NewMessage start;
        std::uint32_t attempts = 0;
        bool operator==(const Kept&) const = default;
    };
    std::vector<Kept> kept;
    bool operator==(const Delete&) const = default;
};

struct Prune {
    std::string instance;
    std::vector<std::uint64_t> executions;
    bool operator==(const Prune&) const = default;
};

struct Expire { // messages whose instance never started
    std::vector<Seq> messages;
    bool operator==(const Expire&) const = default;
};

struct Quarantine { // takes a queued row out of the way
    Queue queue = Queue::orchestrator;
    Seq seq = 0;
    std::string reason;
    bool operator==(const Quarantine&) const = default;
};

struct QuarantineText { // a row that never got into a queue, because it does not decode
    Queue queue = Queue::orchestrator;
    Seq seq = 0;
    std::optional<std::string> instance;
    std::string text;
    std::string reason;
    bool operator==(const QuarantineText&) const = default;
};

} // namespace op

using Operation = std::variant<op::EnqueueMessage,
                               op::StartInstance,
                               op::EnqueueWork,
                               op::FetchTurn,
                               op::FetchWork,
                               op::CommitTurn,
                               op::AbandonTurn,
                               op::FinishWork,
                               op::AbandonWork,
                               op::Append,
                               op::Delete,
                               op::Prune,
                               op::Expire,
                               op::Quarantine,
                               op::QuarantineText>;

struct Record {
    Instant at;
    Operation operation;
    bool operator==(const Record&) const = default;
};

} // namespace durable::ledger
