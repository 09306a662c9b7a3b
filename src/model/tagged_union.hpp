// A variant as an object with one member, whose name says which alternative it is:
// {"TimerFired":{...}}.

#pragma once

#include "model/wire_members.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace durable::wire {

template <class Variant>
using TagNames = std::array<std::string_view, std::variant_size_v<Variant>>;

// Position of `name`, or names.size().
template <std::size_t N>
[[nodiscard]] std::size_t index_of(const std::array<std::string_view, N>& names,
                                   std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

// Calls each(name), which must read the value, for the only member of an object.
template <class Each>
void read_only_member(JsonReader& in, Each&& each) {
    const std::size_t start = (static_cast<void>(in.peek()), in.offset());
    std::size_t members = 0;
    in.object([&](const JsonName& name) { ++members == 1 ? each(name) : void(in.skip()); });
    if (members != 1) {
        in.fail_at(start, "expected an object with exactly one member");
    }
}

template <class Variant, std::size_t Index>
void read_alternative(JsonReader& in, Variant& value) {
    auto& alternative = value.template emplace<Index>();
    using List = typename MembersOf<std::variant_alternative_t<Index, Variant>>::List;
    read_object<List>(in, alternative, alternative.extra);
}

template <class Variant>
inline constexpr auto alternative_readers =
    []<std::size_t... Indices>(std::index_sequence<Indices...>) {
        using Reader = void (*)(JsonReader&, Variant&);
        return std::array<Reader, sizeof...(Indices)>{&read_alternative<Variant, Indices>...};
    }(std::make_index_sequence<std::variant_size_v<Variant>>{});

// `unknown` is said of a tag that has no alternative: "unknown work item".
template <class Variant>
void read_tagged(JsonReader& in,
                 Variant& value,
                 const TagNames<Variant>& names,
                 std::string_view unknown) {
    read_only_member(in, [&](const JsonName& name) {
        const std::size_t index = index_of(names, name.text);
        if (index == names.size()) {
            in.fail_at(name.offset, unknown, name.text);
            return;
        }
        alternative_readers<Variant>[index](in, value);
    });
}

template <class Variant>
void write_tagged(JsonWriter& out, const Variant& value, const TagNames<Variant>& names) {
    out.enter();
    out.literal(R"({")");
    out.token(names[value.index()]);
    out.literal(R"(":)");
    std::visit(
        [&]<class Alternative>(const Alternative& alternative) {
            using List = typename MembersOf<Alternative>::List;
            write_object<List>(out, alternative, alternative.extra);
        },
        value);
    out.literal("}");
    out.leave();
}

} // namespace durable::wire
