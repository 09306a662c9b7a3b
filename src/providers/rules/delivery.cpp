#include "providers/rules/delivery.hpp"

#include <durable/codec.hpp>

#include <utility>
#include <variant>

namespace durable::rules {

void name_by_messages(OrchestrationItem& item) {
    const auto name = [&](const auto& start) {
        item.orchestration_name = start.orchestration;
        item.version = start.version.value_or(std::string{unknown_version});
    };
    for (const auto& message : item.messages) {
        if (const auto* start = std::get_if<work::StartOrchestration>(&message)) {
            return name(*start);
        }
        if (const auto* next = std::get_if<work::ContinueAsNew>(&message)) {
            return name(*next);
        }
    }
}

std::optional<std::uint64_t> held_event(const OrchestrationItem& item,
                                        const CachedHistoryLookup& cached) {
    const auto held = cached ? cached(item.instance) : std::nullopt;
    if (!held || held->execution_id != item.execution_id ||
        (held->incarnation != 0 && held->incarnation != item.incarnation)) {
        return std::nullopt;
    }
    return held->last_event_id;
}

bool decode_next(OrchestrationItem& item, std::string_view text) {
    auto event = decode_event(text);
    if (!event) {
        item.history.clear();
        item.history_after = 0;
        item.kv_snapshot.clear();
        item.history_error = "stored history does not decode: " + event.error().message;
        return false;
    }
    item.history.push_back(*std::move(event));
    return true;
}

std::optional<ErrorDetails> failure_told_by(std::string_view text) {
    if (!text.contains(R"("type":"OrchestrationFailed")")) {
        return std::nullopt;
    }
    auto event = decode_event(text);
    auto* const failed = event ? std::get_if<history::OrchestrationFailed>(&event->kind) : nullptr;
    return failed != nullptr ? std::optional{std::move(failed->details)} : std::nullopt;
}

CodeNeed code_need(std::string name, std::string version) {
    return {.any = false,
            .name = std::move(name),
            .version = version == unknown_version ? std::string{} : std::move(version)};
}

CodeNeed code_begun_by(const Result<WorkItem>& message) {
    if (!message) {
        return {};
    }
    if (const auto* start = std::get_if<work::StartOrchestration>(&*message)) {
        return code_need(start->orchestration, start->version.value_or(""));
    }
    if (const auto* next = std::get_if<work::ContinueAsNew>(&*message)) {
        return code_need(next->orchestration, next->version.value_or(""));
    }
    return {};
}

bool has_code(const FetchOrchestration& request, const CodeNeed& need) {
    return request.code == nullptr || need.any || request.code->has(need.name, need.version);
}

bool can_replay(const FetchOrchestration& request, const Version* pinned) {
    return !request.filter || pinned == nullptr || request.filter->matches(*pinned);
}

} // namespace durable::rules
