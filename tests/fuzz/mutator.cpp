#include "fuzz/mutator.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace durable::fuzz {

namespace {

using namespace std::string_view_literals;

// clang-format off: one entry per line would fill pages

// Pieces that mean something to a reader of JSON, or almost do.
constexpr std::array pieces = {
    "{"sv, "}"sv, "["sv, "]"sv, ","sv, ":"sv, R"(")"sv, R"(\)"sv, " "sv, "\n"sv, "\t"sv, "\0"sv,
    "/"sv, "{}"sv, "[]"sv, R"("")"sv, "null"sv, "true"sv, "false"sv, "nul"sv, R"(["a","b"],)"sv,
    "0"sv, "-0"sv, "-1"sv, "-"sv, "00"sv, ".5"sv, "1.5"sv, "1e5"sv, "1E-400"sv, "1e999"sv,
    "4294967295"sv, "4294967296"sv, "18446744073709551615"sv, "18446744073709551616"sv,
    R"(\n)"sv, R"(\x)"sv, R"(\u)"sv, R"(\u0000)"sv, R"(\u0041)"sv, R"(\ud83d)"sv, R"(\ude00)"sv,
    R"(\ud83d\ude00)"sv, "é"sv, "€"sv, "😀"sv, "\x1f"sv, "\x7f"sv, "\x80"sv, "\xc3"sv,
    "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv, "\xc0\xaf"sv, "\xe0\x9f\xbf"sv, "\xf0\x8f\xbf\xbf"sv,
    "\xef\xbb\xbf"sv,
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["sv, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"sv,
};

// Whole members: unknown ones, and known ones in places where they may or may not belong.
constexpr std::array members = {
    R"("later":1,)"sv, R"("later":[{"a":null}],)"sv, R"("later" : { "type" : "x y" } ,)"sv,
    R"("\u006cater":-1.5e3,)"sv, R"("type":"TimerFired",)"sv, R"("location":"a:1",)"sv,
    R"("location":"",)"sv, R"("tag":null,)"sv, R"("session_id":"s\n",)"sv,
    R"("parent_execution_id":7,)"sv, R"("parent_incarnation":7,)"sv, R"("incarnation":null,)"sv,
    R"("parent_id":18446744073709551615,)"sv,
    R"("failure_kind":"k",)"sv, R"("carry_forward_events":[["a","b"]],)"sv,
    R"("carry_forward_events":null,)"sv, R"("carry_forward_raised":[["a","b"]],)"sv,
    R"("carry_forward_order":"eq",)"sv, R"("rules":1,)"sv, R"("ended_by":"runtime",)"sv,
    R"("when_dropped":"abandon",)"sv, R"("permanent":true,)"sv, R"("permanent":false,)"sv,
    R"("on_cancel":"wait",)"sv, R"("undo":"u",)"sv,
    R"("call_id":2,)"sv, R"("call_attempt":2,)"sv, R"("activity":"a",)"sv, R"("name":"n",)"sv,
};
// clang-format on

} // namespace

Mutator::Mutator(std::vector<std::string> corpus, std::uint64_t seed)
    : corpus_{std::move(corpus)}, random_{seed} {}

std::string Mutator::next() {
    std::string text = corpus_[below(corpus_.size())];
    const std::size_t changes = 1 + below(1 + below(4)); // mostly few: the text may stay valid
    for (std::size_t done = 0; done < changes; ++done) {
        change(text);
    }
    return text;
}

void Mutator::change(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(text.size() - at + 1);
    const std::size_t little = below(1 + (length < 8 ? length : 8));
    const std::string_view piece = pieces[below(pieces.size())];
    switch (below(9)) {
    case 0: // one byte becomes any other
        if (at < text.size()) {
            text[at] = static_cast<char>(random_());
        }
        break;
    case 1:
        text.insert(at, piece);
        break;
    case 2:
        text.replace(at, little, piece);
        break;
    case 3:
        text.erase(at, little);
        break;
    case 4: // a stretch appears twice
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
    case 5: // the head of one text and the tail of another
    {
        const std::string& other = corpus_[below(corpus_.size())];
        text.replace(at, std::string::npos, other, below(other.size() + 1));
        break;
    }
    case 6: // a quoted word of another text takes the place of ours
    {
        const std::string& other = corpus_[below(corpus_.size())];
        const std::size_t start = other.find('"', below(other.size() + 1));
        const std::size_t ours = text.find('"', at);
        if (start != std::string::npos && ours != std::string::npos) {
            text.replace(ours,
                         text.find('"', ours + 1) - ours,
                         other,
                         start,
                         other.find('"', start + 1) - start);
        }
        break;
    }
    case 7: // one more member, in a place where it is legal
        if (const std::size_t comma = text.find(",\"", at); comma != std::string::npos) {
            text.insert(comma + 1, members[below(members.size())]);
        }
        break;
    default:
        text.erase(at, length);
        break;
    }
}

} // namespace durable::fuzz
