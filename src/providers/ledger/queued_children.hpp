// Children that have not begun: the queued starts, by the parent that sent them. A deletion takes
// them along, and must not look through everybody's messages for it.

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

// The parent that a queued message starts a child for; nullopt: it does not, or does not decode.
[[nodiscard]] std::optional<std::string> calling_parent(std::uint8_t kind, std::string_view text);

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
