#include "providers/ledger/queued_children.hpp"

#include <durable/codec.hpp>

#include <utility>
#include <variant>

namespace durable::ledger {

std::optional<std::string> calling_parent(std::uint8_t kind, std::string_view text) {
    // How a client's start ends. Nothing else can: a member behind it would follow, not precede.
    constexpr std::string_view no_parent =
        R"(,"parent_instance":null,"parent_id":null,"execution_id":1}})";
    if (kind != kind_of<work::StartOrchestration> || text.ends_with(no_parent)) {
        return std::nullopt;
    }
    auto item = decode_work_item(text);
    auto* const start = item ? std::get_if<work::StartOrchestration>(&*item) : nullptr;
    return start != nullptr ? std::move(start->parent_instance) : std::nullopt;
}

void QueuedChildren::add(Seq seq, std::uint8_t kind, std::string_view text) {
    if (auto parent = calling_parent(kind, text)) {
        const auto entry = by_parent_.try_emplace(*std::move(parent)).first;
        entry->second.insert(seq);
        parents_.emplace(seq, entry);
    }
}

void QueuedChildren::remove(Seq seq) {
    const auto found = parents_.find(seq);
    if (found == parents_.end()) {
        return;
    }
    const auto entry = found->second;
    parents_.erase(found);
    entry->second.erase(seq);
    if (entry->second.empty()) {
        by_parent_.erase(entry);
    }
}

std::vector<Seq> QueuedChildren::of(std::string_view parent) const {
    const auto found = by_parent_.find(parent);
    return found == by_parent_.end() ? std::vector<Seq>{}
                                     : std::vector<Seq>{found->second.begin(), found->second.end()};
}

} // namespace durable::ledger
