// Writing and reading the JSON objects of stored files: members in a fixed order, usual values left
// out, raw texts embedded.

#pragma once

#include "model/json_reader.hpp"
#include "model/json_writer.hpp"

#include <durable/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable::fs {

class ObjectWriter {
 public:
    explicit ObjectWriter(wire::JsonWriter& out) : out_{out} {}

    [[nodiscard]] wire::JsonWriter& value(std::string_view key) { // the caller writes the value
        out_.token(first_ ? std::string_view{"\""} : std::string_view{",\""});
        first_ = false;
        out_.token(key);
        out_.literal("\":");
        return out_;
    }
    void number(std::string_view key, std::uint64_t number) { value(key).number(number); }
    void number_unless(std::uint64_t usual, std::string_view key, std::uint64_t number) {
        if (number != usual) {
            value(key).number(number);
        }
    }
    void instant(std::string_view key, Instant instant) { number(key, to_epoch_ms(instant)); }
    void instant_unless(Instant usual, std::string_view key, Instant instant) {
        if (instant != usual) {
            number(key, to_epoch_ms(instant));
        }
    }
    void string(std::string_view key, std::string_view text) { value(key).string(text, key); }
    void string_if(std::string_view key, const std::optional<std::string>& text) {
        if (text) {
            string(key, *text);
        }
    }
    void flag_if(std::string_view key, bool set) {
        if (set) {
            value(key).boolean(true);
        }
    }
    // A stored text, see write_raw.
    void raw(std::string_view key, std::string_view text);

    // One value per element, by write(out, element).
    template <class Range, class Write>
    void array_if_any(std::string_view key, const Range& range, Write write) {
        if (range.empty()) {
            return;
        }
        auto& out = value(key);
        char before = '[';
        for (const auto& element : range) {
            out.token({&before, 1});
            before = ',';
            write(out, element);
        }
        out.literal("]");
    }
    void numbers_if_any(std::string_view key, const std::vector<std::uint64_t>& numbers) {
        array_if_any(
            key, numbers, [](wire::JsonWriter& out, std::uint64_t number) { out.number(number); });
    }

 private:
    wire::JsonWriter& out_;
    bool first_ = true;
};

// Writes one object in braces: write(members).
template <class Write>
void write_object(wire::JsonWriter& out, Write write) {
    out.literal("{");
    ObjectWriter members{out};
    write(members);
    out.literal("}");
}

// A stored text: embedded when it is an object on one line, else as a string, else (not UTF-8) as
// an array with its bytes in hexadecimal. read_raw gives the same bytes back in every case.
void write_raw(wire::JsonWriter& out, std::string_view text);
void read_raw(wire::JsonReader& in, std::string& text);

[[nodiscard]] Instant read_instant(wire::JsonReader& in);
void read_string(wire::JsonReader& in, std::optional<std::string>& text);
void read_numbers(wire::JsonReader& in, std::vector<std::uint64_t>& numbers);

// For members that this version does not know: a newer one wrote the file.
void unknown_member(wire::JsonReader& in, const wire::JsonName& name);

} // namespace durable::fs
