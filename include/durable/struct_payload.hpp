// DURABLE_PAYLOAD: structs as payloads, by the names of their members. Included by payload.hpp.

#pragma once

#include <durable/standard_payloads.hpp>

#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace durable::detail {

template <class T>
void write_member(nlohmann::json& object, const char* name, const T& member) {
    static_cast<void>(PartCheck<T>{});
    if constexpr (JsonConvertible<T>) {
        object[name] = member;
    }
}

inline void check_object(const nlohmann::json& json) {
    if (!json.is_object()) {
        throw std::invalid_argument{std::string{"expected a JSON object, found "} +
                                    json.type_name()};
    }
}

template <class T>
void read_member(const nlohmann::json& object, const char* name, T& member) {
    static_cast<void>(PartCheck<T>{});
    if constexpr (JsonConvertible<T>) {
        if (const auto found = object.find(name); found != object.end()) {
            member = found->template get<T>();
        }
    }
}

} // namespace durable::detail

// Makes a struct a payload, by the names of its members: a JSON object. Stands below the struct, in
// its namespace. A member that is missing in a text keeps its default. The conversions are declared
// before the members are checked: members may hold the same struct.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): names of members exist nowhere else
#define DURABLE_PAYLOAD(Type, ...)                                                                 \
    inline void to_json(::nlohmann::json& durable_json, const Type& durable_value);                \
    inline void from_json(const ::nlohmann::json& durable_json, Type& durable_value);              \
    static_assert(::durable::detail::JsonConvertible<Type>,                                        \
                  "a payload must be movable and have a default");                                 \
    inline void to_json(::nlohmann::json& durable_json,                                            \
                        [[maybe_unused]] const Type& durable_value) {                              \
        durable_json = ::nlohmann::json::object();                                                 \
        __VA_OPT__(NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DURABLE_WRITE_MEMBER, __VA_ARGS__)))   \
    }                                                                                              \
    inline void from_json(const ::nlohmann::json& durable_json, Type& durable_value) {             \
        ::durable::detail::check_object(durable_json);                                             \
        durable_value = Type{};                                                                    \
        __VA_OPT__(NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DURABLE_READ_MEMBER, __VA_ARGS__)))    \
    }
#define DURABLE_WRITE_MEMBER(member)                                                               \
    ::durable::detail::write_member(durable_json, #member, durable_value.member);
#define DURABLE_READ_MEMBER(member)                                                                \
    ::durable::detail::read_member(durable_json, #member, durable_value.member);
// NOLINTEND(cppcoreguidelines-macro-usage)
