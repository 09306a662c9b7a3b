// Needs: what a turn or an activity asks of the fetch that takes it, as it is stored.
//
// Two items have equal texts when the same fetches may take both. So a fetch looks only at the
// oldest item of each text, and skips from one text to the next in the index.

#pragma once

#include "providers/rules/delivery.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace durable::sqlite {

struct TurnNeeds {
    bool suspect = false;   // P16
    bool cancelled = false; // one of its messages is a CancelInstance
    std::string pinned;     // "": no version is pinned
    rules::CodeNeed code{}; // P14
    bool operator==(const TurnNeeds&) const = default;

    [[nodiscard]] std::string text() const; // never empty
    [[nodiscard]] static TurnNeeds parse(std::string_view text);
};

struct WorkNeeds {
    std::optional<std::string> tag;
    bool suspect = false;            // P16
    std::optional<std::string> name; // P14; nullopt: it does not decode, and needs no code
    bool operator==(const WorkNeeds&) const = default;

    [[nodiscard]] std::string text() const; // never empty
    [[nodiscard]] static WorkNeeds parse(std::string_view text);
};

// The range of texts of activities with a tag, or of all activities.
struct TextRange {
    std::string after;
    std::string before;
};
[[nodiscard]] TextRange work_with_tag(const std::optional<std::string>& tag);
[[nodiscard]] TextRange all_work();

// Whether the request can replay the version that the turn is pinned to.
[[nodiscard]] bool can_replay(const FetchOrchestration& request, const TurnNeeds& needs);
[[nodiscard]] bool has_code(const FetchOrchestration& request, const TurnNeeds& needs);
[[nodiscard]] bool has_code(const FetchWork& request, const WorkNeeds& needs);
// P14: a request without the code may take an instance that was cancelled no later than this.
[[nodiscard]] std::optional<Instant>
cancelled_until(const FetchOrchestration& request, const TurnNeeds& needs, Instant now);

// Everything but P16, which also depends on other leases.
[[nodiscard]] bool serves(const FetchOrchestration& request,
                          const TurnNeeds& needs,
                          const std::optional<Instant>& cancelled_at,
                          Instant now);

} // namespace durable::sqlite
