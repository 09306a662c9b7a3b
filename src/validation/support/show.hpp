// Values as text, for the messages of broken expectations.

#pragma once

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>
#include <durable/version.hpp>
#include <durable/work_item.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>

namespace durable::validation {

[[nodiscard]] std::string show(bool value);
[[nodiscard]] std::string show(std::string_view text); // in quotes, long texts shortened
[[nodiscard]] std::string show(Duration duration);
[[nodiscard]] std::string show(Instant instant);
[[nodiscard]] std::string show(const Version& version);
[[nodiscard]] std::string show(const Error& error);
[[nodiscard]] std::string show(const WorkItem& item);
[[nodiscard]] std::string show(const HistoryEvent& event);
[[nodiscard]] std::string show(const KvEntry& entry);
[[nodiscard]] std::string show(const CustomStatus& status);
[[nodiscard]] std::string show(const Parked& parked);
[[nodiscard]] std::string show(const ParkedWork& work);
[[nodiscard]] std::string show(std::nullopt_t);

template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
[[nodiscard]] std::string show(const Text& text) {
    return show(std::string_view{text});
}

template <class Number>
    requires std::is_arithmetic_v<Number>
[[nodiscard]] std::string show(Number number) {
    return std::to_string(number);
}

template <class Enum>
    requires std::is_enum_v<Enum>
[[nodiscard]] std::string show(Enum value) {
    if constexpr (requires { std::string_view{name_of(value)}; }) {
        return std::string{name_of(value)};
    } else {
        return "#" + std::to_string(static_cast<std::int64_t>(value));
    }
}

template <class T>
[[nodiscard]] std::string show(const std::optional<T>& value);
template <class First, class Second>
[[nodiscard]] std::string show(const std::pair<First, Second>& pair);

template <std::ranges::input_range Range>
    requires(!std::convertible_to<const Range&, std::string_view>)
[[nodiscard]] std::string show(const Range& range) {
    std::string text = "[";
    for (const auto& element : range) {
        text += (text.size() > 1 ? ", " : "") + show(element);
    }
    return text + "]";
}

template <class T>
std::string show(const std::optional<T>& value) {
    return value ? show(*value) : show(std::nullopt);
}

template <class First, class Second>
std::string show(const std::pair<First, Second>& pair) {
    return show(pair.first) + ": " + show(pair.second);
}

} // namespace durable::validation
