// Record: one state-changing call, decided and ready to be applied.
//
// A record holds everything that applying needs: assigned sequence numbers, the wall time, the raw
// JSON texts. So applying cannot fail, and the same records applied in the same order to an empty
// ledger give the same state: that is how a journal is replayed. Leases are no part of it.

#pragma once

#include "providers/rules/commit.hpp"
#include "providers/rules/stored.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace durable::ledger {

// The ledger decides by the rules that all stores share, and speaks in their words.
using namespace rules; // NOLINT(google-build-using-namespace)
using rules::Queue;    // not the template that users declare queues with

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
    std::vector<Seq> starts; // sent by the deleted ones to children that stay
    // Starts in deleted queues, sent by parents that stay: each begins a new instance of its id.
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
