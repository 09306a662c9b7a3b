// The members of each struct as one compile-time list, from which both directions are made: what is
// written and what is read cannot drift apart.
//
//     template <> struct MembersOf<history::ActivityScheduled> {
//         using List = MemberList<Member<"name", &ActivityScheduled::name>,
//                                 Member<"tag", &ActivityScheduled::tag, Presence::omitted>>;
//     };

#pragma once

#include "model/json_reader.hpp"
#include "model/json_writer.hpp"
#include "model/unknown_members.hpp"
#include "model/wire_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace durable::wire {

// How a member without a value is written and read.
enum class Presence : std::uint8_t {
    required,  // always there
    nullable,  // null; a missing member means the same
    omitted,   // left out; null means the same
    defaulted, // always written; when missing, the default of the struct
};

// A name as a template argument.
template <std::size_t N>
struct Name {
    std::array<char, N> text{};
    // NOLINTNEXTLINE(google-explicit-constructor): literals become names
    consteval Name(const char (&from)[N]) { std::copy_n(from, N, text.begin()); }
    [[nodiscard]] constexpr std::string_view view() const { return {text.data(), N - 1}; }
};

// lead + "name": in one piece, so that a key is a copy of constant length.
template <char Lead, Name Key>
inline constexpr auto key_text = [] {
    std::array<char, Key.view().size() + 4> text{};
    text[0] = Lead;
    text[1] = '"';
    std::ranges::copy(Key.view(), text.begin() + 2);
    text[text.size() - 2] = '"';
    text[text.size() - 1] = ':';
    return text;
}();

template <char Lead, Name Key>
void write_key(JsonWriter& out) {
    constexpr const auto& text = key_text<Lead, Key>;
    out.token(std::string_view{text.data(), text.size()});
}

template <Name Key, auto Pointer, Presence Absence = Presence::required>
struct Member {
    static constexpr auto key = Key;
    static constexpr auto presence = Absence;

    template <class Object>
    static bool present(const Object& object) {
        if constexpr (presence == Presence::omitted) {
            return has_value(object.*Pointer);
        } else {
            return true;
        }
    }
    template <class Object>
    static void write(JsonWriter& out, const Object& object) {
        write_value(out, object.*Pointer, Key.view());
    }
    template <class Object>
    static void read(JsonReader& in, Object& object) {
        if constexpr (presence == Presence::nullable || presence == Presence::omitted) {
            if (in.null()) {
                return;
            }
        }
        read_value(in, object.*Pointer);
    }
};

// Which members of an object were met; bit i is member i of its list.
using MemberSet = std::uint32_t;

template <class... Members>
struct MemberList {
    static_assert(sizeof...(Members) <= 32);
    static constexpr std::array<std::string_view, sizeof...(Members)> names = {
        Members::key.view()...};

    // Writes `Lead"key":value` for the first member, `,"key":value` for the others.
    template <char Lead, class Object>
    static void write(JsonWriter& out, const Object& object) {
        write_each<Lead>(out, object, Indices{});
    }

    // Reads the value of `name` into its member. False when no member has this name.
    template <class Object>
    static bool read(JsonReader& in, const JsonName& name, Object& object, MemberSet& met) {
        return read_any(in, name, object, met, Indices{});
    }

    // After the object: fails when a required member was not met.
    static void require([[maybe_unused]] JsonReader& in, [[maybe_unused]] MemberSet met) {
        constexpr MemberSet required = required_members(Indices{});
        if constexpr (required != 0) { // an empty list has no names to index
            const MemberSet missing = required & ~met;
            if (missing != 0) [[unlikely]] {
                const auto first = static_cast<std::size_t>(std::countr_zero(missing));
                in.fail_at(in.offset(), "missing member", names[first]);
            }
        }
    }

    [[nodiscard]] static bool contains(std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    }

 private:
    using Indices = std::index_sequence_for<Members...>;

    template <std::size_t... Index>
    static consteval MemberSet required_members(std::index_sequence<Index...>) {
        return (MemberSet{0} | ... | (MemberSet{Members::presence == Presence::required} << Index));
    }
    template <char Lead, class Object, std::size_t... Index>
    static void write_each(JsonWriter& out, const Object& object, std::index_sequence<Index...>) {
        (write_one < Index == 0 ? Lead : ',', Members > (out, object), ...);
    }
    template <char Lead, class One, class Object>
    static void write_one(JsonWriter& out, const Object& object) {
        static_assert(Lead == ',' || One::presence != Presence::omitted);
        if (One::present(object)) {
            write_key<Lead, One::key>(out);
            One::write(out, object);
        }
    }
    template <class Object, std::size_t... Index>
    static bool read_any(JsonReader& in,
                         const JsonName& name,
                         Object& object,
                         MemberSet& met,
                         std::index_sequence<Index...>) {
        return (read_if<Members>(in, name, object, met, MemberSet{1} << Index) || ...);
    }
    template <class One, class Object>
    static bool
    read_if(JsonReader& in, const JsonName& name, Object& object, MemberSet& met, MemberSet bit) {
        if (name.text != One::key.view()) {
            return false;
        }
        if ((met & bit) != 0) {
            in.fail_at(name.offset, "repeated member", name.text);
        }
        met |= bit;
        One::read(in, object);
        return true;
    }
};

// Specialised for every struct of the wire format.
template <class Object>
struct MembersOf;

// {"member":..., extra}
template <class List, class Object>
void write_object(JsonWriter& out, const Object& object, std::string_view extra) {
    out.enter();
    List::template write<'{'>(out, object);
    if (!extra.empty()) [[unlikely]] {
        write_extra(out, extra, List::contains);
    }
    out.literal("}");
    out.leave();
}

template <class List, class Object>
void read_object(JsonReader& in, Object& object, std::string& extra) {
    MemberSet met = 0;
    UnknownMembers unknown{extra};
    in.object([&](const JsonName& name) {
        if (!List::read(in, name, object, met)) {
            unknown.keep(in, name);
        }
    });
    unknown.finish(in);
    List::require(in, met);
}

} // namespace durable::wire
