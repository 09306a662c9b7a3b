// One value of each type that members have, in both directions. error_details_codec.hpp adds
// another; the overloads are found by their first argument.

#pragma once

#include "model/json_reader.hpp"
#include "model/json_writer.hpp"

#include <durable/history_event.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::wire {

// `member` is named when a string is refused.
inline void write_value(JsonWriter& out, const std::string& value, std::string_view member) {
    out.string(value, member);
}
inline void write_value(JsonWriter& out, std::uint64_t value, std::string_view) {
    out.number(value);
}
inline void write_value(JsonWriter& out, std::uint32_t value, std::string_view) {
    out.number(value);
}
inline void write_value(JsonWriter& out, bool value, std::string_view) {
    out.boolean(value);
}
void write_value(JsonWriter& out,
                 const std::vector<CarriedMessage>& messages,
                 std::string_view member);
template <class T>
void write_value(JsonWriter& out, const std::optional<T>& value, std::string_view member) {
    value ? write_value(out, *value, member) : out.null();
}

inline void read_value(JsonReader& in, std::string& value) {
    in.string(value);
}
inline void read_value(JsonReader& in, std::uint64_t& value) {
    in.number(value);
}
inline void read_value(JsonReader& in, std::uint32_t& value) {
    in.number(value);
}
inline void read_value(JsonReader& in, bool& value) {
    in.boolean(value);
}
void read_value(JsonReader& in, std::vector<CarriedMessage>& messages);
template <class T>
void read_value(JsonReader& in, std::optional<T>& value) {
    read_value(in, value.emplace());
}

inline bool has_value(const std::string& value) {
    return !value.empty();
}
inline bool has_value(bool value) {
    return value;
}
template <class T>
bool has_value(const std::optional<T>& value) {
    return value.has_value();
}

} // namespace durable::wire
