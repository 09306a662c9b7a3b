// How user values become the text that history stores, and back. The only public header that knows
// nlohmann-json: engine, providers and dispatchers see std::string and nothing else.
//
// A struct becomes a payload with one line beside it,
//     NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, cents)
// which tolerates missing members, so that fields can be added while instances run. For a format of
// your own, specialise durable::Codec.
//
// JSON has no NaN and no infinity: a value that holds one is refused, wherever in it the number is.

#pragma once

#include <durable/result.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace durable {

using Unit = std::monostate; // the value of something that has none

// JSON text that is handed through as it is. Nobody checks it.
class RawJson {
 public:
    RawJson() = default;
    explicit RawJson(std::string text) noexcept : text_{std::move(text)} {}

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    bool operator==(const RawJson&) const = default;

 private:
    std::string text_ = "null";
};

namespace detail {

template <class T>
concept JsonConvertible = std::movable<T> && requires(nlohmann::json& json, const T& in) {
    nlohmann::json(in);
    json.template get<T>();
};

[[noreturn]] inline void throw_bad_payload(std::string_view expected, std::string_view text) {
    throw std::invalid_argument{"expected " + std::string{expected} + ", found '" +
                                std::string{text.substr(0, 64)} + "'"};
}

[[noreturn]] inline void throw_not_finite() {
    throw std::invalid_argument{"a number that is not finite (NaN, infinity) has no JSON text"};
}

// nlohmann-json writes null for such a number, and what is read back would be another value.
inline void check_finite(const nlohmann::json& json) {
    if (json.is_number_float() && !std::isfinite(json.get_ref<const double&>())) {
        throw_not_finite();
    }
    if (json.is_structured()) {
        for (const auto& each : json) {
            check_finite(each);
        }
    }
}

template <class T>
[[nodiscard]] std::string json_text(const T& value) {
    const nlohmann::json json(value);
    check_finite(json);
    return json.dump();
}

} // namespace detail

// The customisation point. Both functions may throw any std::exception.
//     template <> struct durable::Codec<Money> {
//         static std::string encode(const Money& value);
//         static Money decode(std::string_view text);
//     };
template <class T>
struct Codec;

template <detail::JsonConvertible T>
    requires(!std::is_arithmetic_v<T>)
struct Codec<T> {
    static std::string encode(const T& value) { return detail::json_text(value); }
    static T decode(std::string_view text) { return nlohmann::json::parse(text).template get<T>(); }
};

// A string is its own text, without quotes: what people and other programs send is what arrives.
template <>
struct Codec<std::string> {
    static std::string encode(const std::string& value) { return value; }
    static std::string decode(std::string_view text) { return std::string{text}; }
};

template <>
struct Codec<RawJson> {
    static std::string encode(const RawJson& value) { return value.text(); }
    static RawJson decode(std::string_view text) { return RawJson{std::string{text}}; }
};

template <>
struct Codec<Unit> {
    static std::string encode(Unit) { return "null"; }
    static Unit decode(std::string_view) { return {}; }
};

template <>
struct Codec<bool> {
    static std::string encode(bool value) { return value ? "true" : "false"; }
    static bool decode(std::string_view text) {
        if (text != "true" && text != "false") {
            detail::throw_bad_payload("true or false", text);
        }
        return text == "true";
    }
};

template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
struct Codec<T> {
    static std::string encode(T value) {
        if constexpr (std::is_floating_point_v<T>) {
            if (!std::isfinite(value)) {
                detail::throw_not_finite();
            }
        }
        char text[64]; // NOLINT(modernize-avoid-c-arrays): filled by to_chars
        const auto end = std::to_chars(text, text + sizeof text, value).ptr;
        return std::string{text, end};
    }
    static T decode(std::string_view text) {
        T value{};
        const auto* const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, value);
        if (error != std::errc{} || end != last) {
            detail::throw_bad_payload("a number in range", text);
        }
        return value;
    }
};

template <class T>
    requires detail::JsonConvertible<T>
struct Codec<std::optional<T>> {
    static std::string encode(const std::optional<T>& value) {
        return value ? detail::json_text(*value) : "null";
    }
    static std::optional<T> decode(std::string_view text) {
        const auto json = nlohmann::json::parse(text);
        return json.is_null() ? std::nullopt : std::optional<T>{json.template get<T>()};
    }
};

// A type that can cross the durable boundary.
template <class T>
concept Payload = std::movable<T> && requires(const T& value, std::string_view text) {
    { Codec<T>::encode(value) } -> std::same_as<std::string>;
    { Codec<T>::decode(text) } -> std::same_as<T>;
};

template <class T>
concept PayloadOrVoid = std::is_void_v<T> || Payload<T>;

template <Payload T>
[[nodiscard]] std::string to_payload(const T& value) {
    return Codec<T>::encode(value);
}

// A text that does not fit the type is a failure of the kind failure_kind::bad_payload.
template <Payload T>
[[nodiscard]] Outcome<T> from_payload(std::string_view text) {
    try {
        return Codec<T>::decode(text);
    } catch (const std::exception& error) {
        return std::unexpected{
            Failure{.kind = std::string{failure_kind::bad_payload},
                    .message = "cannot read the payload: " + std::string{detail::text_of(error)}}};
    }
}

} // namespace durable
