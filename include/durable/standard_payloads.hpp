// Types of the standard library that nlohmann-json does not know, as parts of payloads. Included by
// payload.hpp; docs/authoring.md explains them.
//
//     std::optional<T>        null, or what T is: a field may become optional
//     std::variant<A, B>      {"index":1,"value":...}: new alternatives go to the end
//     std::chrono::duration   "1500ms": a field may change its unit
//     std::chrono::sys_time   "2026-01-31T12:00:00.250Z", always UTC, with the digits of its unit
//     std::monostate          null
//
// Where a number stands instead of the text of a duration or of a moment, it counts the type's own
// unit: a field may become a duration.
//
// A conversion of the user's own is preferred: an adl_serializer<std::optional<T>>, or a to_json
// beside T. Every file that converts the type must see it, as everywhere with nlohmann-json. A
// conversion that is chosen by std::enable_if needs durable::standard_json<T> = false, or is
// ambiguous. `std::optional<int> x = json;` with a const json is ambiguous too: write
// json.get<std::optional<int>>().

#pragma once

#include <durable/time_text.hpp>

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace durable {

// False for a type that this header does not convert.
template <class T>
inline constexpr bool standard_json = true;

namespace detail {

// Whether nlohmann-json converts the type. The members of T are not examined here: types may
// contain themselves.
template <class T>
concept JsonKnown = std::movable<T> && requires(nlohmann::json& json, const T& value) {
    json.template get<T>();
    nlohmann::json(value);
};
template <class T>
inline constexpr bool is_json_convertible = JsonKnown<T>;
template <class T>
inline constexpr bool is_json_convertible<std::optional<T>> =
    JsonKnown<std::optional<T>> && is_json_convertible<T>;
template <class... Ts>
inline constexpr bool is_json_convertible<std::variant<Ts...>> =
    JsonKnown<std::variant<Ts...>> && (is_json_convertible<Ts> && ...);

template <class T>
concept JsonConvertible = is_json_convertible<T>;

// Reports once per type, not at every use, that it cannot be a part of a payload.
template <class T>
struct PartCheck {
    static_assert(JsonConvertible<T>,
                  "a part of a payload is no payload: write DURABLE_PAYLOAD(Type, members...) "
                  "below its struct, in its namespace; durable/payload.hpp has other ways");
};

// How a type becomes JSON and is read from it.
template <class T>
struct StandardJson;

template <class T>
inline constexpr bool is_nullable = false; // null means something else already
template <class T>
inline constexpr bool is_nullable<std::optional<T>> = true;
template <>
inline constexpr bool is_nullable<std::monostate> = true;

template <>
struct StandardJson<std::monostate> {
    static void write(nlohmann::json& json, std::monostate) { json = nullptr; }
    static std::monostate read(const nlohmann::json&) { return {}; }
};

template <class T>
    requires(!is_nullable<T>)
struct StandardJson<std::optional<T>> {
    static void write(nlohmann::json& json, const std::optional<T>& value) {
        static_cast<void>(PartCheck<T>{});
        json = nullptr;
        if constexpr (JsonConvertible<T>) {
            if (value) {
                json = nlohmann::json(*value);
                if (json.is_null()) {
                    throw std::invalid_argument{
                        "an optional holds a value whose JSON is null: it would be read as empty"};
                }
            }
        }
    }
    static std::optional<T> read(const nlohmann::json& json) {
        static_cast<void>(PartCheck<T>{});
        if constexpr (JsonConvertible<T>) {
            return json.is_null() ? std::nullopt : std::optional<T>{json.template get<T>()};
        } else {
            return std::nullopt;
        }
    }
};

template <class... Ts>
struct StandardJson<std::variant<Ts...>> {
    using Variant = std::variant<Ts...>;

    static void write(nlohmann::json& json, const Variant& value) {
        if (value.valueless_by_exception()) {
            throw std::invalid_argument{"a variant that lost its value has no text"};
        }
        json = nlohmann::json::object();
        json["index"] = value.index();
        json["value"] = std::visit([](const auto& held) { return nlohmann::json(held); }, value);
    }
    static Variant read(const nlohmann::json& json) {
        const auto index = json.at("index").template get<std::int64_t>();
        if (index < 0 || index >= static_cast<std::int64_t>(sizeof...(Ts))) {
            throw std::invalid_argument{"a variant of " + std::to_string(sizeof...(Ts)) +
                                        " alternatives has none with the index " +
                                        std::to_string(index)};
        }
        return alternative<0>(static_cast<std::size_t>(index), json.at("value"));
    }

 private:
    template <std::size_t Index>
    static Variant alternative(std::size_t index, const nlohmann::json& json) {
        if constexpr (Index + 1 < sizeof...(Ts)) {
            if (index != Index) {
                return alternative<Index + 1>(index, json);
            }
        }
        return Variant{std::in_place_index<Index>,
                       json.template get<std::variant_alternative_t<Index, Variant>>()};
    }
};

template <class Rep>
concept CountsTime = std::floating_point<Rep> || (std::integral<Rep> && !std::same_as<Rep, bool>);

template <class Period>
inline constexpr TimeUnit unit_of{Period::num, Period::den};

template <std::integral Rep>
[[nodiscard]] Rep narrowed_units(std::int64_t count) {
    if (!std::in_range<Rep>(count)) {
        throw std::invalid_argument{"a count of " + std::to_string(count) +
                                    " units of time is out of range"};
    }
    return static_cast<Rep>(count);
}

template <std::integral Rep>
[[nodiscard]] std::int64_t widened_units(Rep count) {
    if (!std::in_range<std::int64_t>(count)) {
        throw std::invalid_argument{"a count of " + std::to_string(count) +
                                    " units of time is out of range"};
    }
    return static_cast<std::int64_t>(count);
}

// A number counts the unit of the type.
[[nodiscard]] inline std::int64_t plain_units(const nlohmann::json& json) {
    if (!json.is_number_integer() ||
        (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>()))) {
        throw std::invalid_argument{"expected a whole number, found '" + json.dump() + "'"};
    }
    return json.get<std::int64_t>();
}

template <CountsTime Rep, class Period>
struct StandardJson<std::chrono::duration<Rep, Period>> {
    using Value = std::chrono::duration<Rep, Period>;

    static void write(nlohmann::json& json, const Value& value) {
        if constexpr (std::floating_point<Rep>) {
            if (!std::isfinite(value.count())) {
                throw std::invalid_argument{"a duration that is not finite has no JSON text"};
            }
            json = duration_text(static_cast<double>(value.count()), unit_of<Period>);
        } else {
            json = duration_text(widened_units(value.count()), unit_of<Period>);
        }
    }
    static Value read(const nlohmann::json& json) {
        if constexpr (std::floating_point<Rep>) {
            return Value{static_cast<Rep>(
                json.is_number()
                    ? json.get<double>()
                    : fractional_units(json.get_ref<const std::string&>(), unit_of<Period>))};
        } else {
            return Value{narrowed_units<Rep>(
                json.is_number()
                    ? plain_units(json)
                    : whole_units(json.get_ref<const std::string&>(), unit_of<Period>))};
        }
    }
};

// Only points in time of the wall clock: those of other clocks mean nothing to another process.
template <std::integral Rep, class Period>
    requires(is_decimal(unit_of<Period>))
struct StandardJson<std::chrono::sys_time<std::chrono::duration<Rep, Period>>> {
    using Value = std::chrono::sys_time<std::chrono::duration<Rep, Period>>;

    static void write(nlohmann::json& json, const Value& value) {
        json = moment_text(widened_units(value.time_since_epoch().count()), unit_of<Period>);
    }
    static Value read(const nlohmann::json& json) {
        return Value{std::chrono::duration<Rep, Period>{narrowed_units<Rep>(
            json.is_number() ? plain_units(json)
                             : moment_units(json.get_ref<const std::string&>(), unit_of<Period>))}};
    }
};

// Conversions that nlohmann-json itself has, in a later version or by a user's to_json beside the
// type, stay in use.
template <class T>
concept NeedsStandardJson = standard_json<T> && requires {
    sizeof(StandardJson<T>);
} && !requires(nlohmann::json& json, const T& value) { ::nlohmann::to_json(json, value); };

} // namespace detail

} // namespace durable

// Less specialised than any specialisation for std::optional<T>, std::variant<...> and the like: a
// user's specialisation is preferred and is no second definition.
template <class T>
    requires durable::detail::NeedsStandardJson<T>
struct nlohmann::adl_serializer<T, void> {
    static void to_json(nlohmann::json& json, const T& value) {
        durable::detail::StandardJson<T>::write(json, value);
    }
    static T from_json(const nlohmann::json& json) {
        return durable::detail::StandardJson<T>::read(json);
    }
    static void from_json(const nlohmann::json& json, T& value) {
        value = durable::detail::StandardJson<T>::read(json);
    }
};
