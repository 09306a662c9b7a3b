#include "model/unknown_members.hpp"

#include <algorithm>
#include <iterator>

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
        } else if (c == '\\') { // only inside strings; an escaped quote does not end one
            out.push_back(json[++at]);
        }
    }
}

} // namespace

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
        in.fail_at(std::next(twice)->offset, "repeated member", twice->name);
    }
}

void write_extra(JsonWriter& out, std::string_view extra, bool (*is_known)(std::string_view name)) {
    JsonReader in{extra, out.depth()};
    std::string kept;
    UnknownMembers unknown{kept};
    in.members([&](const JsonName& name) {
        if (is_known(name.text)) {
            in.fail_at(name.offset, "known member", name.text);
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
