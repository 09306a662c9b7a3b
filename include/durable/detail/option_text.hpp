// OptionText: a text in the options of a step, safe to keep. A literal stays where it is; any other
// text is copied to where the orchestration keeps it until its execution ends or leaves memory.
// Made outside of an orchestration it is kept for ever, once however often it is used.
//
// Options must be trivially copyable (see options.hpp), so it cannot be a std::string. One rule is
// left to the user: options in a variable that outlives the execution, a `static` one for example,
// take literals only, or are made before any orchestration runs.

#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace durable {

namespace detail {
[[nodiscard]] std::string_view keep_text(std::string_view text);
} // namespace detail

class OptionText {
 public:
    constexpr OptionText() noexcept = default;

    template <std::size_t Size>
    constexpr OptionText(
        const char (&literal)[Size]) noexcept // NOLINT(google-explicit-constructor)
        : text_{static_cast<const char*>(literal)} {}

    template <std::convertible_to<std::string_view> T>
    constexpr OptionText(const T& text) : text_{text} { // NOLINT(google-explicit-constructor)
        if (!std::is_constant_evaluated() && !text_.empty()) {
            text_ = detail::keep_text(text_);
        }
    }
    template <std::size_t Size>
    OptionText(char (&buffer)[Size]) // NOLINT(google-explicit-constructor)
        : OptionText{std::string_view{static_cast<const char*>(buffer)}} {}
    OptionText(std::nullptr_t) = delete;

    constexpr operator std::string_view() const noexcept { // NOLINT(google-explicit-constructor)
        return text_;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return text_.empty(); }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return text_.size(); }

    friend constexpr bool operator==(const OptionText& a, std::string_view b) noexcept {
        return a.text_ == b;
    }

 private:
    std::string_view text_;
};

} // namespace durable
