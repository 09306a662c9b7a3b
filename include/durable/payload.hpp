// How user values become the text that history stores, and back. The only public header that knows
// nlohmann-json: engine, providers and dispatchers see std::string and nothing else.
//
// A struct becomes a payload with one line below it, in its namespace,
//     DURABLE_PAYLOAD(Order, id, cents)
// which tolerates missing members, so that fields can be added and removed while instances run: a
// recorded payload whose text differs from today's is read as today's type and written again before
// the two are compared. NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT does and writes the same.
// Members may be what nlohmann-json knows and what standard_payloads.hpp adds: std::optional,
// std::variant, durations and moments. For a format of your own, specialise durable::Codec.
//
// JSON has no NaN and no infinity: a value that contains one, at any depth, is refused. So is a
// nlohmann::json that is binary or discarded, text that is not UTF-8, and a value, or a text to
// read, that is nested deeper than max_payload_depth. Types that do not own their data
// (std::string_view, std::span, pointers) are no payloads: see OwnsItsData.

#pragma once

#include <durable/detail/members.hpp>
#include <durable/detail/owning.hpp>
#include <durable/result.hpp>
#include <durable/standard_payloads.hpp>
#include <durable/struct_payload.hpp> // IWYU pragma: export

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
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

using Unit = std::monostate; // stands for "no value"

// The deepest nesting of JSON containers: writing and comparing deeper ones would overflow the
// stack.
inline constexpr std::size_t max_payload_depth = 512;

// JSON text that is passed on as it is, unchecked.
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

// The beginning of a text, for a sentence about it; never half a character.
[[nodiscard]] inline std::string excerpt(std::string_view text) {
    constexpr std::size_t most = 64;
    if (text.size() <= most) {
        return std::string{text};
    }
    auto end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return std::string{text.substr(0, end)} + "...";
}

// "key 'flag' holds 'maybe', which does not fit ": the type follows.
[[nodiscard]] inline std::string misfit(std::string_view what, std::string_view text) {
    return std::string{what} + " holds '" + excerpt(text) + "', which does not fit ";
}

[[noreturn]] inline void throw_bad_payload(std::string_view expected, std::string_view text) {
    throw std::invalid_argument{"expected " + std::string{expected} + ", found '" + excerpt(text) +
                                "'"};
}

[[noreturn]] inline void throw_not_finite() {
    throw std::invalid_argument{"a number that is not finite (NaN, infinity) has no JSON text"};
}

[[noreturn]] inline void throw_binary() {
    throw std::invalid_argument{
        "JSON has no text for binary data: write it as base64, for example"};
}

[[noreturn]] inline void throw_discarded() {
    throw std::invalid_argument{"a nlohmann::json whose parsing failed (discarded) has no text"};
}

[[noreturn]] inline void throw_too_deep() {
    throw std::invalid_argument{"a payload is nested deeper than " +
                                std::to_string(max_payload_depth) + " levels"};
}

template <class T>
concept Json = nlohmann::detail::is_basic_json<T>::value;

struct IsJson {
    template <class T>
    static constexpr bool of = Json<T>;
};

// nlohmann-json writes null for a number that is not finite, an object for binary data and a word
// that is no JSON for a discarded value: reading them back would give another value.
template <Json J>
void check_writable(const J& json, std::size_t depth = 0) {
    using Number = typename J::number_float_t;
    if (json.is_number_float() && !std::isfinite(json.template get_ref<const Number&>())) {
        throw_not_finite();
    }
    if (json.is_binary()) {
        throw_binary();
    }
    if (json.is_discarded()) {
        throw_discarded();
    }
    if (json.is_structured()) {
        if (depth == max_payload_depth) {
            throw_too_deep();
        }
        for (const auto& each : json) {
            check_writable(each, depth + 1);
        }
    }
}

[[noreturn]] inline void throw_not_utf8() {
    throw std::invalid_argument{"a text in it is not UTF-8"};
}

[[nodiscard]] inline std::string dumped(const nlohmann::json& json) {
    constexpr int invalid_utf8 = 316; // of nlohmann::json::type_error
    check_writable(json);
    try {
        return json.dump();
    } catch (const nlohmann::json::type_error& error) {
        if (error.id == invalid_utf8) {
            throw_not_utf8();
        }
        throw;
    }
}

template <class T>
[[nodiscard]] std::string json_text(const T& value) {
    if constexpr (std::same_as<T, nlohmann::json>) {
        return dumped(value);
    } else {
        // A copy would need the stack before the depth is known.
        for_each_held<IsJson>(value, [](const Json auto& each) { check_writable(each); });
        return dumped(nlohmann::json(value));
    }
}

// By brackets and quotes alone: the parser checks whether the text is JSON.
inline void check_depth(std::string_view text) {
    if (text.size() <= max_payload_depth) {
        return;
    }
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            at += c == '\\' ? 1U : 0U;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_payload_depth) {
                throw_too_deep();
            }
        } else if (c == ']' || c == '}') {
            depth -= depth > 0 ? 1U : 0U;
        }
    }
}

[[nodiscard]] inline nlohmann::json parse_json(std::string_view text) {
    check_depth(text);
    return nlohmann::json::parse(text);
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
    static T decode(std::string_view text) { return detail::parse_json(text).template get<T>(); }
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

namespace detail {

// Numbers; of the types of characters only char, which JSON libraries take for a number too.
template <class T>
concept Number =
    std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

} // namespace detail

template <detail::Number T>
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
    requires(detail::JsonConvertible<T> && !detail::is_nullable<T>)
struct Codec<std::optional<T>> {
    static std::string encode(const std::optional<T>& value) {
        return value ? detail::json_text(*value) : "null";
    }
    static std::optional<T> decode(std::string_view text) {
        const auto json = detail::parse_json(text);
        return json.is_null() ? std::nullopt : std::optional<T>{json.template get<T>()};
    }
};

// A type that can cross the durable boundary.
template <class T>
concept Payload =
    std::movable<T> && detail::OwnsItsData<T> && requires(const T& value, std::string_view text) {
        { Codec<T>::encode(value) } -> std::same_as<std::string>;
        { Codec<T>::decode(text) } -> std::same_as<T>;
    };

template <class T>
concept PayloadOrVoid = std::is_void_v<T> || Payload<T>;

namespace detail {

// The same check with an error message, for templates that get a type from the user:
// Event<std::string_view>.
template <class T>
consteval bool check_payload() {
    static_assert(OwnsItsData<T>,
                  "a payload must own its data: write std::string instead of std::string_view and "
                  "const char*, std::vector instead of std::span");
    static_assert(!OwnsItsData<T> || Payload<T>,
                  "this type is no payload: write DURABLE_PAYLOAD(Type, members...) below its "
                  "struct, in its namespace; durable/payload.hpp has other ways");
    return true;
}

} // namespace detail

template <Payload T>
[[nodiscard]] std::string to_payload(const T& value) {
    return Codec<T>::encode(value);
}

namespace detail {

// The text of a value, or the result of on_problem(sentence): "the input has no payload text: a
// text in it is not UTF-8". A type that is no payload compiles here: its contract has the error.
template <class T, class OnProblem>
[[nodiscard]] auto write_or(const T& value, std::string_view what, const OnProblem& on_problem)
    -> decltype(on_problem(std::string{})) {
    std::string reason;
    try {
        if constexpr (Payload<T>) {
            return to_payload(value);
        }
    } catch (const std::exception& error) {
        reason = text_of(error);
    } catch (...) {
        reason = foreign_exception;
    }
    return on_problem(std::string{what} + " has no payload text: " + reason);
}

} // namespace detail

namespace detail {

template <Payload T>
[[nodiscard]] std::optional<std::string> recode(std::string_view recorded) {
    try {
        return Codec<T>::encode(Codec<T>::decode(recorded));
    } catch (...) {
        return std::nullopt;
    }
}

// See detail::Recode. nullptr for Unit, which reads every text: a removed input would not be
// noticed. nullptr for a type that is no payload: its contract has the error message.
template <class T>
inline constexpr std::optional<std::string> (*recode_as)(std::string_view) = nullptr;
template <Payload T>
    requires(!std::same_as<T, Unit>)
inline constexpr std::optional<std::string> (*recode_as<T>)(std::string_view) = &recode<T>;

} // namespace detail

// A text that does not fit the type is a failure of the kind failure_kind::bad_payload.
template <Payload T>
[[nodiscard]] Outcome<T> from_payload(std::string_view text) {
    try {
        return Codec<T>::decode(text);
    } catch (const std::exception& error) {
        return std::unexpected{
            Failure{.kind = std::string{failure_kind::bad_payload},
                    .message = "cannot read the payload: " + std::string{detail::text_of(error)},
                    .retryable = false}};
    } catch (...) {
        return std::unexpected{
            Failure{.kind = std::string{failure_kind::bad_payload},
                    .message = "cannot read the payload: " + std::string{detail::foreign_exception},
                    .retryable = false}};
    }
}

namespace detail {

// The same for the type of a contract, which has the error message when it is no payload.
template <class T>
[[nodiscard]] Outcome<T> decode_payload(std::string_view text) {
    if constexpr (Payload<T>) {
        return from_payload<T>(text);
    } else {
        return std::unexpected{Failure{.kind = std::string{failure_kind::bad_payload}}};
    }
}

} // namespace detail

} // namespace durable
