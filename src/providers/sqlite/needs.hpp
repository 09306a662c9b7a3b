// Needs: what a turn or an activity asks of the fetch that takes it, as it is stored.
//
// As texts they are equal where the same fetches may take both, so a fetch looks at the oldest of
// each text only, and hops from one text to the next.

#pragma once

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace durable::sqlite {

struct TurnNeeds {
    struct Code {
        std::string name;
        std::string version; // empty or "unknown": any
        bool operator==(const Code&) const = default;
    };

    bool suspect = false;     // P16
    bool cancelled = false;   // one of its messages is a CancelInstance
    std::string pinned;       // "": no version is pinned
    std::optional<Code> code; // P14; nullopt: it needs none
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

// The texts of activities with this tag lie between these two; of all activities.
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
// Without its code the request takes an instance whose cancellation came no later than this.
[[nodiscard]] std::optional<Instant>
cancelled_until(const FetchOrchestration& request, const TurnNeeds& needs, Instant now);

// All of it but P16, which also depends on what others do.
[[nodiscard]] bool serves(const FetchOrchestration& request,
                          const TurnNeeds& needs,
                          const std::optional<Instant>& cancelled_at,
                          Instant now);

} // namespace durable::sqlite
