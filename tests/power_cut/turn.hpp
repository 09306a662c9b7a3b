// Turns: what the workload's orchestration decides, and what a history of it tells.
//
// A turn is one marker, the value "turn" as "NUMBER/EVENTS", with all events of the turn around it;
// the custom status says the same. So half a turn is seen in the history itself.

#pragma once

#include "base/random.hpp"
#include "power_cut/facts.hpp"

#include <durable/provider.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::power_cut {

inline constexpr std::string_view turn_key = "turn";

// An event with that name and a payload of that size.
[[nodiscard]] WorkItem
make_message(const std::string& target, const std::string& tag, std::size_t size);

struct Outgoing {
    std::size_t messages = 0;
    std::size_t size = 0; // of each
    std::size_t activities = 0;
};

struct Turn {
    TurnCommit commit;
    std::string note; // for the diary
};

// nullopt: there is nothing to decide now. `target` names an instance that may get a message, or
// is empty.
[[nodiscard]] std::optional<Turn> decide(const OrchestrationItem& item,
                                         const Outgoing& outgoing,
                                         Random& random,
                                         const std::function<std::string()>& target);

// The tag of a message; empty: it has none. A payload that is not as it was made is a flaw.
[[nodiscard]] std::string tag_of(const WorkItem& item, std::vector<std::string>& flaws);

// Reads one execution after the other, from the oldest that is left, and adds to what is found.
class HistoryReader {
 public:
    HistoryReader(std::string instance, Found& found)
        : instance_{std::move(instance)}, found_{found} {}

    void read(std::uint64_t execution, const std::vector<HistoryEvent>& history);

    [[nodiscard]] const std::string& marker() const noexcept { return marker_; } // the last one
    [[nodiscard]] bool completed() const noexcept { return completed_; }

 private:
    void take(std::uint64_t execution, const HistoryEvent& event);
    void take_marker(const std::string& value);
    void complain(const std::string& what);

    std::string instance_;
    Found& found_;
    std::uint64_t turn_ = 0;
    std::uint64_t rest_ = 0; // events of the turn that must follow
    bool started_ = false;   // the event before was the execution's start
    bool completed_ = false;
    std::string marker_;
};

} // namespace durable::power_cut
