#include "fuzz/codec_oracle.hpp"

#include "fuzz/wire_schema.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

namespace durable::fuzz {

namespace {

using nlohmann::json;
using Complaint = std::optional<std::string>;
using Canonical = std::optional<json>;

constexpr std::size_t max_depth = 64;

std::size_t depth_of(const json& value) {
    std::size_t deepest = 0;
    for (const json& inner : value) {
        deepest = std::max(deepest, inner.is_structured() ? depth_of(inner) : 0);
    }
    return deepest + 1;
}

// Legal JSON that the format forbids and nlohmann-json's document does not show: repeated members
// (it keeps the last) and deep nesting.
bool is_forbidden_json(std::string_view text) {
    bool forbidden = false;
    std::vector<std::set<std::string>> open; // keys of each open container
    const auto look = [&](int, json::parse_event_t event, json& parsed) {
        switch (event) {
        case json::parse_event_t::object_start:
        case json::parse_event_t::array_start:
            open.emplace_back();
            forbidden |= open.size() > max_depth;
            break;
        case json::parse_event_t::object_end:
        case json::parse_event_t::array_end:
            open.pop_back();
            break;
        case json::parse_event_t::key:
            forbidden |= !open.back().insert(parsed.get<std::string>()).second;
            break;
        case json::parse_event_t::value:
            break;
        }
        return true;
    };
    [[maybe_unused]] const json document = json::parse(text, look, false);
    return forbidden;
}

// nlohmann-json skips a byte order mark and ends at a NUL; the format knows neither.
bool is_misread_by_nlohmann(std::string_view text) {
    return text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos;
}

// 1e999 is JSON, but more than nlohmann-json's numbers hold.
bool has_number_beyond_double(std::string_view text) {
    try {
        [[maybe_unused]] const json document = json::parse(text);
    } catch (const json::out_of_range&) {
        return true;
    } catch (const json::exception&) {
        return false;
    }
    return false;
}

Complaint check_refusal(const Error& error, std::string_view text, const Canonical& canonical) {
    std::size_t offset = 0;
    const std::string_view prefix = "byte ";
    const char* const end = error.message.data() + error.message.size();
    if (error.code != ErrorCode::corrupt || !error.message.starts_with(prefix) ||
        std::from_chars(error.message.data() + prefix.size(), end, offset).ec != std::errc{} ||
        offset > text.size()) {
        return "bad error: " + error.text();
    }
    if (canonical && !is_misread_by_nlohmann(text) && !is_forbidden_json(text)) {
        return "refused what fits the schema: " + error.text();
    }
    return std::nullopt;
}

template <class Value, class Decode>
Complaint check_value(const Value& value,
                      std::string_view text,
                      const json& document,
                      const Canonical& canonical,
                      Decode decode) {
    const bool is_json = !document.is_discarded();
    if (is_misread_by_nlohmann(text) || (!is_json && !has_number_beyond_double(text))) {
        return "accepted what is no JSON";
    }
    if (is_json && depth_of(document) > max_depth) {
        return "accepted what is nested too deeply";
    }
    const auto encoded = encode(value);
    if (!encoded) {
        return "does not encode: " + encoded.error().text();
    }
    if (std::ranges::any_of(*encoded, [](char c) { return c >= 0 && c < ' '; })) {
        return "encoded with a control character: " + *encoded;
    }
    const Result<Value> again = decode(*encoded);
    if (!again) {
        return "does not decode again: " + again.error().text() + ": " + *encoded;
    }
    if (*again != value || encode(*again).value() != *encoded) {
        return "changed by a round trip: " + *encoded;
    }
    if (is_json && !canonical) {
        return "accepted what does not fit the schema";
    }
    if (is_json && json::parse(*encoded) != *canonical) {
        return "means something else now: " + *encoded + ", not " + canonical->dump();
    }
    return std::nullopt;
}

template <class Decode>
Complaint
check(std::string_view text, const json& document, const Canonical& canonical, Decode decode) {
    const auto value = decode(text);
    return value ? check_value(*value, text, document, canonical, decode)
                 : check_refusal(value.error(), text, canonical);
}

} // namespace

Complaint codec_complaint(std::string_view text) {
    const json document = json::parse(text, nullptr, false);
    if (auto complaint = check(text, document, canonical_event(document), decode_event)) {
        return "event: " + *complaint;
    }
    if (auto complaint = check(text, document, canonical_work_item(document), decode_work_item)) {
        return "work item: " + *complaint;
    }
    if (auto complaint = check(text, document, canonical_error(document), decode_error_details)) {
        return "error: " + *complaint;
    }
    return std::nullopt;
}

} // namespace durable::fuzz
