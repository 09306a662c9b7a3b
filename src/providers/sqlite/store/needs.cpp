#include "providers/sqlite/store/needs.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace durable::sqlite {

namespace {

// A text with its length in front, so that any text may follow.
std::string measured(std::string_view text) {
    return std::to_string(text.size()) + ":" + std::string{text};
}

// Takes such a text off the front.
std::string take_measured(std::string_view& rest) {
    std::size_t size = 0;
    const auto* const end = rest.data() + rest.size();
    const auto stop = std::from_chars(rest.data(), end, size).ptr;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    if (rest.empty() || rest.front() != ':' || rest.size() - 1 < size) {
        rest = {};
        return {};
    }
    std::string text{rest.substr(1, size)};
    rest.remove_prefix(1 + size);
    return text;
}

char take_char(std::string_view& rest) {
    if (rest.empty()) {
        return '\0';
    }
    const auto first = rest.front();
    rest.remove_prefix(1);
    return first;
}

std::string beginning(const std::optional<std::string>& tag) {
    return tag ? "=" + measured(*tag) : "-";
}

} // namespace

// ---- As texts

std::string TurnNeeds::text() const {
    std::string text{suspect ? '1' : '0', cancelled ? '1' : '0'};
    text += measured(pinned);
    if (!code.any) {
        text += measured(code.name) + code.version;
    }
    return text;
}

TurnNeeds TurnNeeds::parse(std::string_view text) {
    TurnNeeds needs;
    needs.suspect = take_char(text) == '1';
    needs.cancelled = take_char(text) == '1';
    needs.pinned = take_measured(text);
    if (!text.empty()) {
        auto name = take_measured(text);
        needs.code = rules::code_need(std::move(name), std::string{text});
    }
    return needs;
}

std::string WorkNeeds::text() const {
    return beginning(tag) + (suspect ? '1' : '0') + (name ? "/" + *name : "");
}

WorkNeeds WorkNeeds::parse(std::string_view text) {
    WorkNeeds needs;
    if (take_char(text) == '=') {
        needs.tag = take_measured(text);
    }
    needs.suspect = take_char(text) == '1';
    if (take_char(text) == '/') {
        needs.name = text;
    }
    return needs;
}

TextRange work_with_tag(const std::optional<std::string>& tag) {
    const auto all = beginning(tag);
    return {.after = all, .before = all + "2"};
}

TextRange all_work() {
    return {.after = "", .before = "~"}; // behind '-' and '='
}

// ---- Against requests

bool can_replay(const FetchOrchestration& request, const TurnNeeds& needs) {
    if (!request.filter) {
        return true; // the common case, without parsing
    }
    const auto pinned = Version::parse(needs.pinned);
    return rules::can_replay(request, pinned ? &*pinned : nullptr);
}

bool has_code(const FetchOrchestration& request, const TurnNeeds& needs) {
    return rules::has_code(request, needs.code);
}

bool has_code(const FetchWork& request, const WorkNeeds& needs) {
    return !request.code || !needs.name || request.code->contains(*needs.name);
}

std::optional<Instant>
cancelled_until(const FetchOrchestration& request, const TurnNeeds& needs, Instant now) {
    if (!needs.cancelled || !request.code || !request.code->cancelled_for) {
        return std::nullopt;
    }
    return add_saturating(now, -std::max(*request.code->cancelled_for, Duration::zero()));
}

bool serves(const FetchOrchestration& request,
            const TurnNeeds& needs,
            const std::optional<Instant>& cancelled_at,
            Instant now) {
    if (!can_replay(request, needs)) {
        return false;
    }
    const auto until = cancelled_until(request, needs, now);
    return has_code(request, needs) || (until && cancelled_at && *cancelled_at <= *until);
}

} // namespace durable::sqlite
