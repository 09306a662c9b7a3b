// QueuedChildren: queued starts of children, by the parent that sent them. The deletion of a parent
// removes them, and finds them here without a search through all queues.

#pragma once

#include "providers/ledger/record.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace durable::ledger {

class QueuedChildren {
 public:
    void add(Seq seq, std::uint8_t kind, std::string_view text);
    void remove(Seq seq);
    // Ascending.
    [[nodiscard]] std::vector<Seq> of(std::string_view parent) const;

 private:
    using ByParent = std::map<std::string, std::set<Seq>, std::less<>>;

    ByParent by_parent_; // no empty sets
    std::unordered_map<Seq, ByParent::iterator> parents_;
};

} // namespace durable::ledger
