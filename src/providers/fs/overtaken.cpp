#include "providers/fs/overtaken.hpp"

#include <algorithm>
#include <variant>

namespace durable::fs {

namespace op = ledger::op;

bool Overtaken::has_all(const std::string& instance,
                        std::uint64_t execution_id,
                        std::span<const ledger::NewEvent> events) const {
    const auto* found = ledger_.instances.find(instance);
    const auto* execution = found == nullptr ? nullptr : found->find_execution(execution_id);
    return execution != nullptr && std::ranges::all_of(events, [&](const auto& event) {
               return execution->history.find(event.id) == event.text;
           });
}

std::optional<std::vector<ledger::Record>> Overtaken::rest_of(const ledger::Record& record) {
    using Rest = std::optional<std::vector<ledger::Record>>;
    const auto nothing = [] { return Rest{std::in_place}; };
    const auto done = [&](ledger::Seq seq) {
        done_.insert(seq);
        return nothing();
    };
    const auto& operation = record.operation;
    if (const auto* turn = std::get_if<op::CommitTurn>(&operation)) {
        const bool ended = archive_.holds(turn->instance);
        if (!ended || !has_all(turn->instance, turn->execution_id, turn->events)) {
            return std::nullopt;
        }
        for (const auto& work : turn->work) {
            done_.insert(work.seq);
        }
        auto rest = nothing();
        for (const auto& message : turn->messages) {
            if (archive_.holds(message.instance)) {
                done_.insert(message.seq);
            } else {
                rest->push_back({.at = record.at, .operation = op::EnqueueMessage{message}});
            }
        }
        return rest;
    }
    if (const auto* sent = std::get_if<op::EnqueueMessage>(&operation)) {
        return archive_.holds(sent->message.instance) ? done(sent->message.seq) : std::nullopt;
    }
    if (const auto* given = std::get_if<op::EnqueueWork>(&operation)) {
        return archive_.holds(given->work.activity.instance) ? done(given->work.seq) : std::nullopt;
    }
    if (const auto* fetched = std::get_if<op::FetchTurn>(&operation)) {
        return archive_.holds(fetched->instance) ? nothing() : std::nullopt;
    }
    if (const auto* put_back = std::get_if<op::AbandonTurn>(&operation)) {
        return archive_.holds(put_back->instance) ? nothing() : std::nullopt;
    }
    if (const auto* fetched = std::get_if<op::FetchWork>(&operation)) {
        return done_.contains(fetched->seq) ? nothing() : std::nullopt;
    }
    if (const auto* put_back = std::get_if<op::AbandonWork>(&operation)) {
        return done_.contains(put_back->seq) ? nothing() : std::nullopt;
    }
    if (const auto* ended = std::get_if<op::FinishWork>(&operation)) {
        const bool here = ended->completion && archive_.holds(ended->completion->instance);
        if (here) {
            done_.insert(ended->completion->seq);
        }
        return here || done_.contains(ended->seq) ? nothing() : std::nullopt;
    }
    if (const auto* added = std::get_if<op::Append>(&operation)) {
        const bool there = archive_.holds(added->instance) &&
                           has_all(added->instance, added->execution_id, added->events);
        return there ? nothing() : std::nullopt;
    }
    return std::nullopt; // what is deleted, pruned or put in quarantine stays so if done again
}

} // namespace durable::fs
