#include "model/wire_members.hpp"

namespace durable::wire {

namespace {

// Appends JSON text without the white space between its tokens.
void append_compact(std::string& out, std::string_view json) {
    bool in_string = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char c = json[at];
        const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (space && !in_string) {
            continue;
        }
        out.push_back(c);
        if (c == '"') {
            in_string = !in_string;
        } else if (c == '\\') { // only inside strings; what is escaped cannot end them
            out.push_back(json[++at]);
        }
    }
}

std::string quoted(std::string_view name) {
    // Names come from the text: a long one would drown the message.
    constexpr std::size_t longest = 80;
    return name.size() <= longest ? '"' + std::string{name} + '"' : "with a long name";
}

} // namespace

void write_value(JsonWriter& out,
                 const std::vector<CarriedMessage>& messages,
                 std::string_view member) {
    out.literal("[");
    for (std::size_t index = 0; index < messages.size(); ++index) {
        out.token(index == 0 ? std::string_view{"["} : std::string_view{",["});
        out.string(messages[index].name, member);
        out.literal(",");
        out.string(messages[index].data, member);
        out.literal("]");
    }
    out.literal("]");
}

void read_value(JsonReader& in, std::vector<CarriedMessage>& messages) {
    in.array([&] {
        CarriedMessage message;
        std::size_t strings = 0;
        const std::size_t start = in.offset();
        in.array([&] {
            if (strings < 2) {
                in.string(strings == 0 ? message.name : message.data);
            } else {
                in.skip();
            }
            ++strings;
        });
        if (strings != 2) {
            in.fail_at(start, "expected two strings, a name and data");
        }
        messages.push_back(std::move(message));
    });
}

void fail_repeated(JsonReader& in, const JsonName& name) {
    in.fail_at(name.offset, "repeated member " + quoted(name.text));
}

void fail_missing(JsonReader& in, std::string_view member) {
    in.fail_here("missing member " + quoted(member));
}

void fail_missing(JsonReader& in, std::span<const std::string_view> names, MemberSet missing) {
    fail_missing(in, names[static_cast<std::size_t>(std::countr_zero(missing))]);
}

void fail_unknown(JsonReader& in, std::string_view what, const JsonName& name) {
    in.fail_at(name.offset, "unknown " + std::string{what} + ' ' + quoted(name.text));
}

void UnknownMembers::keep(JsonReader& in, const JsonName& name) {
    met_.push_back({.name = std::string{name.text}, .offset = name.offset});
    const std::string_view value = in.skip();
    if (in.failed()) {
        return;
    }
    if (!extra_.empty()) {
        extra_.push_back(',');
    }
    extra_.append(name.raw);
    extra_.push_back(':');
    append_compact(extra_, value);
}

void UnknownMembers::finish(JsonReader& in) {
    if (met_.size() < 2 || in.failed()) {
        return;
    }
    std::ranges::sort(met_);
    const auto twice = std::ranges::adjacent_find(met_, {}, &Met::name);
    if (twice != met_.end()) {
        in.fail_at(std::next(twice)->offset, "repeated member " + quoted(twice->name));
    }
}

void write_extra(JsonWriter& out, std::string_view extra, bool (*is_known)(std::string_view name)) {
    JsonReader in{extra, out.depth()};
    std::string kept;
    UnknownMembers unknown{kept};
    in.members([&](const JsonName& name) {
        if (is_known(name.text)) {
            in.fail_at(name.offset, "known member " + quoted(name.text));
        }
        unknown.keep(in, name);
    });
    unknown.finish(in);
    if (!in.failed() && kept != extra) {
        in.fail_at(0, "white space between tokens");
    }
    if (in.failed()) {
        out.refuse("extra: " + in.failure());
        return;
    }
    out.literal(",");
    out.token(extra);
}

} // namespace durable::wire
