#include "replay/nondeterminism.hpp"

#include <string_view>

namespace durable::replay {

namespace {

constexpr std::string_view changed_code =
    "The code of a running instance was changed. Bring the old code back, guard the change with "
    "ctx.patched(\"...\"), or register it as a new version. If the code is the same, it does "
    "something that is not deterministic: see docs/determinism.md.";

std::string at(const std::string& location) {
    return location.empty() ? std::string{} : ", made at " + location;
}

// There are no two sides that differ: the history, a message or the code is impossible by itself.
bool is_one_sided(NondeterminismKind kind) {
    return kind == NondeterminismKind::corrupt || kind == NondeterminismKind::unmatched ||
           kind == NondeterminismKind::stuck || kind == NondeterminismKind::order;
}

std::string or_nothing(const std::string& text) {
    return text.empty() ? std::string{"nothing"} : text;
}

} // namespace

std::string_view code_of(NondeterminismKind kind) noexcept {
    switch (kind) {
    case NondeterminismKind::different:
        return "E2001";
    case NondeterminismKind::missing:
        return "E2002";
    case NondeterminismKind::extra:
        return "E2003";
    case NondeterminismKind::corrupt:
        return "E2004";
    case NondeterminismKind::unmatched:
        return "E2005";
    case NondeterminismKind::stuck:
        return "E2006";
    case NondeterminismKind::order:
        return "E2007";
    }
    return "E2000";
}

std::string_view advice_for(NondeterminismKind kind) noexcept {
    switch (kind) {
    case NondeterminismKind::different:
    case NondeterminismKind::missing:
    case NondeterminismKind::extra:
        return changed_code;
    case NondeterminismKind::corrupt:
        return "No code of this library writes such a history. Check the store (durable verify); "
               "if it is sound, report a bug with the history.";
    case NondeterminismKind::unmatched:
        return "A message answers a step that this execution never made. It was sent by hand, by "
               "another instance under the same id, or by a damaged store.";
    case NondeterminismKind::stuck:
        return "Nothing can ever wake this coroutine. Keep what another task waits for until it "
               "is done, and keep operations and tasks in local variables: one that another run "
               "left in a global is never answered here. If the code does both and g++ 12 has "
               "compiled it, declare a local variable in every coroutine and give every co_await "
               "a line of its own: docs/determinism.md.";
    case NondeterminismKind::order:
        return "Write combinators with braces, all{a, b}: inside parentheses the order is the "
               "compiler's choice.";
    }
    return changed_code;
}

std::string NondeterminismReport::summary() const {
    auto text = std::string{code_of(kind)} + ": ";
    if (is_one_sided(kind)) {
        text += difference;
    } else {
        text += "history has " + or_nothing(expected) + at(expected_location) + "; the code made " +
                or_nothing(actual) + at(actual_location);
        if (!failed_before.empty()) {
            text += ", after it failed: " + failed_before;
        }
        if (!difference.empty()) {
            text += "; " + difference;
        }
    }
    return event_id == 0 ? text : text + " (event " + std::to_string(event_id) + ")";
}

std::string NondeterminismReport::text() const {
    auto page = "error " + std::string{code_of(kind)} + " in " + orchestration + ", instance " +
                instance + ", execution " + std::to_string(execution_id);
    page += event_id == 0 ? std::string{", after the end of its history\n"}
                          : ", event " + std::to_string(event_id) + '\n';
    if (!is_one_sided(kind) || !expected.empty()) {
        page += "  history   " + or_nothing(expected) + at(expected_location) + '\n';
    }
    if (!is_one_sided(kind) || !actual.empty()) {
        page += "  code      " + or_nothing(actual) + at(actual_location) + '\n';
    }
    if (!failed_before.empty()) {
        page += "  failed    " + failed_before + '\n';
    }
    if (!difference.empty()) {
        page += (is_one_sided(kind) ? "  problem   " : "  differs   ") + difference + '\n';
    }
    return page + "  to do     " + advice + '\n';
}

} // namespace durable::replay
