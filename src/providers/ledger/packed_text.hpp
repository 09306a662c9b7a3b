// PackedText: an immutable string in eight bytes plus its own allocation. A million parked messages
// are why std::string's 32 bytes are too many.

#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace durable::ledger {

class PackedText {
 public:
    PackedText() = default;
    explicit PackedText(std::string_view text)
        : bytes_{std::make_unique_for_overwrite<char[]>(sizeof(std::size_t) + text.size())} {
        const auto size = text.size();
        std::memcpy(bytes_.get(), &size, sizeof size);
        std::memcpy(bytes_.get() + sizeof size, text.data(), size);
    }

    [[nodiscard]] bool given() const noexcept { return bytes_ != nullptr; } // also when empty
    [[nodiscard]] std::string_view view() const noexcept {
        if (!bytes_) {
            return {};
        }
        std::size_t size = 0;
        std::memcpy(&size, bytes_.get(), sizeof size);
        return {bytes_.get() + sizeof size, size};
    }

 private:
    std::unique_ptr<char[]> bytes_; // size, then the characters
};

} // namespace durable::ledger
