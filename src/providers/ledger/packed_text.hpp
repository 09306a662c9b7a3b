// PackedText: an immutable string in eight bytes plus a block of its own. A million parked
// instances are why std::string's 32 bytes are too many.

#pragma once

#include "base/blocks.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace durable::ledger {

class PackedText {
 public:
    PackedText() = default;
    explicit PackedText(std::string_view text)
        : block_{static_cast<char*>(take_block(header_for(text.size()) + text.size()))} {
        const auto size = text.size();
        *block_ = static_cast<char>(size < large ? size : large);
        if (size >= large) {
            std::memcpy(block_ + 1, &size, sizeof size);
        }
        if (size > 0) {
            std::memcpy(block_ + header_for(size), text.data(), size);
        }
    }
    PackedText(PackedText&& other) noexcept : block_{std::exchange(other.block_, nullptr)} {}
    PackedText& operator=(PackedText&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    PackedText(const PackedText&) = delete;
    PackedText& operator=(const PackedText&) = delete;
    ~PackedText() {
        if (given()) {
            const auto size = view().size();
            give_block_back(block_, header_for(size) + size);
        }
    }

    [[nodiscard]] bool given() const noexcept { return block_ != nullptr; } // also when empty
    [[nodiscard]] std::string_view view() const noexcept {
        if (!given()) {
            return {};
        }
        std::size_t size = static_cast<unsigned char>(*block_);
        if (size == large) {
            std::memcpy(&size, block_ + 1, sizeof size);
        }
        return {block_ + header_for(size), size};
    }

 private:
    static constexpr std::size_t large = 0xff; // instead of the size: it follows

    static constexpr std::size_t header_for(std::size_t size) noexcept {
        return size < large ? 1 : 1 + sizeof size;
    }

    char* block_ = nullptr; // the size in a byte, or `large` and the size; then the characters
};

} // namespace durable::ledger
