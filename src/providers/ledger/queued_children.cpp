#include "providers/ledger/queued_children.hpp"

#include <durable/codec.hpp>

#include <utility>
#include <variant>

namespace durable::ledger {

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
