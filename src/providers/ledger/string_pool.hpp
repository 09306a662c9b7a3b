// StringPool: one reference-counted copy of each string that many instances share: names, versions,
// parents.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace durable::ledger {

// Looks up a string_view in tables of std::string without making a std::string.
struct TextHash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>{}(text);
    }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

class StringPool {
 public:
    // Equal texts give equal pointers. A pointer is valid until it was released as often as
    // acquired.
    [[nodiscard]] const std::string* acquire(std::string_view text) {
        auto found = counts_.find(text);
        if (found == counts_.end()) {
            found = counts_.emplace(text, 0).first;
        }
        ++found->second;
        return &found->first;
    }

    [[nodiscard]] const std::string* find(std::string_view text) const {
        const auto found = counts_.find(text);
        return found == counts_.end() ? nullptr : &found->first;
    }

    void release(const std::string* text) {
        if (text == nullptr) {
            return;
        }
        const auto found = counts_.find(*text);
        if (--found->second == 0) {
            counts_.erase(found);
        }
    }

 private:
    TextMap<std::uint64_t> counts_;
};

} // namespace durable::ledger
