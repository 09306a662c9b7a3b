// Whatever an orchestration does, and in whatever order the world answers: its history is the same
// whether its frames stayed in memory or not, and replaying it gives every decision again.
//
// A failure prints the seed and a program that was made as small as it still fails.

#include "property/cases.hpp"
#include "property/program.hpp"
#include "property/world.hpp"
#include "replay/decision.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace durable::property {

namespace {

using Handler = std::shared_ptr<const OrchestrationHandler>;

constexpr std::uint64_t parts = 10;
const std::uint64_t cases_per_part = cases(10'000) / parts;

std::unique_ptr<replay::Execution>
execution_of(const Handler& handler, std::size_t number, const ExecutionRecord& record) {
    return replay::Execution::create({.handler = handler,
                                      .instance = "prop",
                                      .execution_id = number,
                                      .kv = record.kv_at_start,
                                      .limits = {}});
}

std::string verify(const Handler& handler, const Run& run) {
    for (std::size_t i = 0; i < run.executions.size(); ++i) {
        const auto execution = execution_of(handler, i + 1, run.executions[i]);
        if (!execution->replay(run.executions[i].history, replay::ReplayMode::verify)) {
            return "the finished history:\n" + execution->nondeterminism()->text();
        }
        if (!execution->ended()) {
            return "the replay of a finished history has no end";
        }
    }
    return {};
}

// Begun, cancelled, ended: what is recorded of an execution that was cancelled before its code ran.
bool never_ran(const std::vector<HistoryEvent>& history) {
    return history.size() == 3 &&
           std::holds_alternative<history::OrchestrationCancelRequested>(history[1].kind);
}

// A history that lost one decision must not pass for the real one.
std::string verify_damaged(const Handler& handler, const Run& run, std::uint64_t seed) {
    validation::Dice dice{seed};
    const auto number = dice.below(run.executions.size());
    auto history = run.executions[number].history;
    const auto lost = 1 + dice.below(history.size() - 1);
    const auto& kind = history[lost].kind;
    if (!replay::is_decision(kind) || std::holds_alternative<history::PatchMarked>(kind)) {
        return {};
    }
    history.erase(history.begin() + static_cast<std::ptrdiff_t>(lost));
    if (never_ran(history)) {
        return {}; // its only decision left no other trace: this is the history of another world
    }
    const auto execution = execution_of(handler, number + 1, run.executions[number]);
    const bool accepted =
        execution->replay(history, replay::ReplayMode::verify) && execution->ended();
    return accepted ? "event " + std::to_string(lost + 1) + " of execution " +
                          std::to_string(number + 1) + " was taken out and nobody noticed"
                    : "";
}

// What is wrong with this program in this world; empty when all is well.
std::string check(const Node& program, std::uint64_t seed) {
    const auto handler = handler_of(std::make_shared<const Node>(program));
    const auto kept = run_in_world(handler, seed, Frames::kept);
    if (kept.trouble) {
        return *kept.trouble;
    }
    if (auto found = difference(kept, run_in_world(handler, seed, Frames::evicted));
        !found.empty()) {
        return "kept against evicted: " + found;
    }
    if (auto found = difference(kept, run_in_world(handler, seed, Frames::mixed)); !found.empty()) {
        return "kept against mixed: " + found;
    }
    if (auto found = history_difference(kept, run_message_by_message(handler, kept));
        !found.empty()) {
        return "many messages a turn against one: " + found;
    }
    if (auto found = verify(handler, kept); !found.empty()) {
        return found;
    }
    return verify_damaged(handler, kept, seed);
}

class ReplayEquality : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ReplayEquality, HoldsForRandomProgramsInRandomWorlds) {
    for (std::uint64_t i = 0; i < cases_per_part; ++i) {
        const auto seed = GetParam() * cases_per_part + i;
        const auto program = draw_program(seed);
        if (check(program, seed).empty()) {
            continue;
        }
        const auto smallest =
            shrink(program, [seed](const Node& smaller) { return !check(smaller, seed).empty(); });
        FAIL() << "seed " << seed << "\n"
               << to_text(smallest) << "\nof " << to_text(program) << "\n"
               << check(smallest, seed);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, ReplayEquality, ::testing::Range<std::uint64_t>(0, parts));

// Seeds that found what it stands for, before it was mended.
TEST(ReplayEqualitySeeds, AClockThatIsSetBackLeavesNoLongTimersBehind) {
    for (const std::uint64_t seed : {64U, 1'015U, 2'025U}) {
        EXPECT_EQ(check(draw_program(seed), seed), "") << "seed " << seed;
    }
}

TEST(ReplayEqualitySeeds, AHistoryWithoutItsOnlyDecisionMayBeOneOfCodeThatNeverRan) {
    EXPECT_EQ(check(draw_program(80'990), 80'990), "");
}

// The cases are worth something only if they reach everything.
TEST(ReplayEqualityCases, MeetEveryKindOfEventAndEveryEnd) {
    std::set<std::string_view> kinds;
    std::set<replay::TurnStatus> ends;
    std::size_t events = 0;
    constexpr std::uint64_t sample = 1'000;
    for (std::uint64_t seed = 0; seed < sample; ++seed) {
        const auto handler = handler_of(std::make_shared<const Node>(draw_program(seed)));
        const auto run = run_in_world(handler, seed, Frames::kept);
        for (const auto& record : run.executions) {
            events += record.history.size();
            for (const auto& event : record.history) {
                kinds.insert(type_name(event.kind));
            }
        }
        ends.insert(run.status);
    }
    EXPECT_EQ(kinds.size(), std::variant_size_v<history::Kind>);
    EXPECT_EQ(ends,
              (std::set{replay::TurnStatus::completed,
                        replay::TurnStatus::failed,
                        replay::TurnStatus::cancelled}));
    EXPECT_GT(events / sample, 10U);
    RecordProperty("events_per_case", static_cast<int>(events / sample));
}

} // namespace

} // namespace durable::property
