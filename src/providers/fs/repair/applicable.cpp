#include "providers/fs/repair/applicable.hpp"

#include <span>
#include <variant>

namespace durable::fs {

namespace {

namespace op = ledger::op;
using Why = std::optional<std::string>;

struct Applicable {
    ledger::Ledger& ledger;

    Why operator()(const op::EnqueueMessage& operation) const {
        return taken(operation.message.seq);
    }
    Why operator()(const op::StartInstance& operation) const {
        if (const auto* known = ledger.instances.find(operation.message.instance);
            known != nullptr && known->exists()) {
            return "instance \"" + operation.message.instance + "\", which it starts, exists";
        }
        return taken(operation.message.seq);
    }
    Why operator()(const op::EnqueueWork& operation) const { return taken(operation.work.seq); }

    Why operator()(const op::CommitTurn& commit) const {
        for (const auto seq : commit.consumed) {
            const auto* message = ledger.turns.find(seq);
            if (message == nullptr || message->instance->id() != commit.instance) {
                return "message " + std::to_string(seq) + ", which the turn consumed, is missing";
            }
        }
        auto why = follows(commit.instance, commit.execution_id, commit.events);
        for (const auto& work : commit.work) {
            why = why ? why : taken(work.seq);
        }
        for (const auto& message : commit.messages) {
            why = why ? why : taken(message.seq);
        }
        return why;
    }

    Why operator()(const op::FinishWork& operation) const {
        if (ledger.work.find(operation.seq) == nullptr) {
            return "activity " + std::to_string(operation.seq) + ", which has ended, is missing";
        }
        return operation.completion ? taken(operation.completion->seq) : std::nullopt;
    }

    Why operator()(const op::Append& operation) const {
        return follows(operation.instance, operation.execution_id, operation.events);
    }

    Why operator()(const op::QuarantineText& operation) const { return taken(operation.seq); }

    // The others change what is there, and pass over what is not.
    Why operator()(const auto& /*operation*/) const { return std::nullopt; }

    Why taken(ledger::Seq seq) const {
        return ledger.turns.find(seq) != nullptr || ledger.work.find(seq) != nullptr
                   ? Why{"the place " + std::to_string(seq) + " in the queues is taken"}
                   : std::nullopt;
    }

    Why follows(const std::string& id,
                std::uint64_t execution_id,
                std::span<const ledger::NewEvent> events) const {
        const auto* instance = ledger.instances.find(id);
        const auto* execution =
            instance == nullptr ? nullptr : instance->find_execution(execution_id);
        if (execution == nullptr && events.empty()) {
            return "execution " + std::to_string(execution_id) +
                   ", which it goes on with, is missing";
        }
        const auto last = execution == nullptr ? 0 : execution->history.last_id();
        if (!events.empty() && events.front().id != last + 1) {
            return "it adds event " + std::to_string(events.front().id) + " of execution " +
                   std::to_string(execution_id) + ", but the history has " + std::to_string(last);
        }
        return std::nullopt;
    }
};

} // namespace

std::optional<std::string> why_not_applicable(ledger::Ledger& ledger,
                                              const ledger::Record& record) {
    return std::visit(Applicable{ledger}, record.operation);
}

} // namespace durable::fs
