// Custom status, time, ids, patches, logs: what an orchestration reads is the same on replay.

#include "replay/fixture.hpp"

#include <set>

#include <gtest/gtest.h>

namespace durable::replay_test::state_test {

namespace {

const std::string started_line = "1 OrchestrationStarted TestOrch(test-input)";

// ---- Custom status

TEST(CustomStatus, EachCallIsAnEvent) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.set_status("one");
        ctx.set_status("two");
        ctx.clear_status();
        co_return ctx.status().value_or("none");
    })
        .completes("none")
        .then({started_line,
               "2 CustomStatusUpdated one",
               "3 CustomStatusUpdated two",
               "4 CustomStatusUpdated (none)",
               "5 OrchestrationCompleted none"});
}

// ---- Time

TEST(Now, IsTheTimeOfWhatIsBeingReactedTo) {
    auto start = started();
    start.timestamp_ms = 5'000;
    auto scheduled = activity("A");
    scheduled.timestamp_ms = 5'000;
    given(start, scheduled)
        .at_time(9'000)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto first = to_epoch_ms(ctx.now());
                co_await ctx.call_raw("A", "");
                co_return std::to_string(first) + "," + std::to_string(to_epoch_ms(ctx.now()));
            },
            completion(2, ""))
        .completes("5000,9000");
}

TEST(Now, NeverGoesBack) {
    const auto turn = given(started(), activity("A"))
                          .at_time(start_ms - 500'000) // the clock was set back
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  co_await ctx.call_raw("A", "");
                                  co_return std::to_string(to_epoch_ms(ctx.now()));
                              },
                              completion(2, ""));

    turn.completes(std::to_string(start_ms));
    EXPECT_EQ(turn.delta().at(0).timestamp_ms, start_ms);
}

// The frames in memory must not know a time that a replay could not tell.
TEST(Now, IsNotMovedByATurnThatLeavesNoTrace) {
    const auto execution = replay::Execution::create(
        {.handler = handler_of([](Context ctx, std::string) -> Task<std::string> {
             co_await ctx.call_raw("A", "");
             co_return std::to_string(to_epoch_ms(ctx.now()));
         }),
         .instance = test_instance});
    const std::vector<WorkItem> start{start_message()};
    const std::vector<WorkItem> stray{completion(2, "", 9)};
    const std::vector<WorkItem> answer{completion(2, "")};

    EXPECT_FALSE(execution->run(start, from_epoch_ms(start_ms)).ended());
    EXPECT_EQ(execution->run(stray, from_epoch_ms(start_ms + 9'000)).counters.ignored, 1u);

    EXPECT_EQ(execution->run(answer, from_epoch_ms(start_ms + 5'000)).output,
              std::to_string(start_ms + 5'000));
}

// The second timer counts from when the first was handled, not from when it was due.
TEST(Now, ATimerCountsFromTheTimeOfTheTurn) {
    const auto turn = given(started(), timer(start_ms + 1'000))
                          .at_time(start_ms + 700'000)
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  co_await ctx.sleep(1s);
                                  co_await ctx.sleep(1s);
                                  co_return "";
                              },
                              timer_fires(2));

    const auto& second = std::get<history::TimerCreated>(turn.delta().at(1).kind);
    EXPECT_EQ(second.fire_at_ms, start_ms + 701'000);
}

// The clock was far ahead for one turn, and was put right: now() stands still until it is there
// again, a pause does not.
TEST(Now, ASpanOfTimeCountsFromTheClockWhereThatWasSetBack) {
    const auto wall = start_ms - 500'000;
    const auto turn = given(started(), activity("A"))
                          .at_time(wall)
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  co_await ctx.call_raw("A", "");
                                  auto pause = ctx.sleep(1s);
                                  auto moment = ctx.sleep_until(from_epoch_ms(start_ms + 7));
                                  auto for_ever = ctx.sleep(Duration::max());
                                  auto call = ctx.call_raw("B", "", {.timeout = 2s});
                                  co_await pause;
                                  co_return "";
                              },
                              completion(2, ""));

    const auto fires_at = [&](std::size_t place) {
        return std::get<history::TimerCreated>(turn.delta().at(place).kind).fire_at_ms;
    };
    const auto& message = std::get<work::TimerFired>(turn.result().commit.orchestrator_items.at(0));
    EXPECT_EQ(fires_at(1), wall + 1'000);
    EXPECT_EQ(message.fire_at_ms, wall + 1'000);
    EXPECT_EQ(fires_at(2), start_ms + 7);
    EXPECT_EQ(fires_at(3), to_epoch_ms(Instant::max()));
    EXPECT_EQ(fires_at(5), wall + 2'000);
}

TEST(Now, SleepUntilAndHugeDurationsDoNotOverflow) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto a = ctx.sleep_until(from_epoch_ms(123));
        const auto b = ctx.sleep(Duration::max());
        co_await ctx.sleep(-5s);
        co_return "";
    });

    EXPECT_EQ(std::get<history::TimerCreated>(turn.delta().at(1).kind).fire_at_ms, 123u);
    EXPECT_GT(std::get<history::TimerCreated>(turn.delta().at(2).kind).fire_at_ms, start_ms);
}

// ---- Ids

Task<std::string> three_uuids(Context ctx, std::string) {
    const auto first = ctx.new_uuid();
    co_await ctx.call_raw("A", "");
    co_return first + "," + ctx.new_uuid() + "," + ctx.new_uuid();
}

TEST(NewUuid, IsTheSameOnReplayAndDiffersFromCallToCall) {
    const auto once = given(started(), activity("A")).when(three_uuids, completion(2, ""));
    const auto again = given(started(), activity("A")).when(three_uuids, completion(2, ""));

    EXPECT_EQ(once.result().output, again.result().output);
    const auto& text = once.result().output;
    const std::set<std::string> ids{text.substr(0, 36), text.substr(37, 36), text.substr(74, 36)};
    EXPECT_EQ(ids.size(), 3u);
    EXPECT_EQ(text[14], '8'); // the version
}

TEST(NewUuid, DiffersForAnInstanceThatIsStartedAgainUnderTheSameId) {
    auto later = started();
    later.timestamp_ms = start_ms + 1;
    EXPECT_NE(given(started(), activity("A")).when(three_uuids, completion(2, "")).result().output,
              given(later, activity("A")).when(three_uuids, completion(2, "")).result().output);
}

TEST(Identity, IsKnownToTheCode) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.instance() + "/" + std::to_string(ctx.execution_id()) + " " +
            ctx.orchestration() + " " + ctx.version();
    }).completes("test-instance/1 TestOrch 1.0.0");
}

// ---- Replaying

TEST(IsReplaying, IsFalseInAFreshExecutionFromTheFirstStatementOn) {
    given()
        .without_replay_check() // its result depends on the flag, as no orchestration's should
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return ctx.is_replaying() ? "replaying" : "live";
            },
            start_message())
        .completes("live");
}

TEST(IsReplaying, IsTrueUntilTheFirstNewMessage) {
    static std::vector<bool> seen;
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        seen.push_back(ctx.is_replaying());
        co_await ctx.call_raw("A", "");
        seen.push_back(ctx.is_replaying());
        co_await ctx.call_raw("B", "");
        seen.push_back(ctx.is_replaying());
        co_return "";
    };
    seen.clear();

    given(started(), activity("A"), completed(2, ""), activity("B"))
        .without_replay_check()
        .when(code, completion(4, ""))
        .completes("");

    EXPECT_EQ(seen, (std::vector<bool>{true, true, false}));
}

// The last recorded event woke the code, which then made no new step: it ran then, not now.
TEST(IsReplaying, T06_IsTrueForATailThatHasAlreadyRun) {
    const auto logged = given(started(), activity("A"), activity("B"), completed(2, "a"))
                            .when([](Context ctx, std::string) -> Task<std::string> {
                                auto a = ctx.call_raw("A", "");
                                auto b = ctx.call_raw("B", "");
                                co_await a;
                                ctx.log(LogLevel::info, "after A");
                                co_return co_await b;
                            });

    logged.runs_on();
    EXPECT_TRUE(logged.result().log.empty());
}

TEST(Log, IsSilentDuringReplayAndCarriesItsPlace) {
    const auto turn = given(started(), activity("A"))
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  ctx.log(LogLevel::info, "before");
                                  co_await ctx.call_raw("A", "");
                                  ctx.log(LogLevel::warn, "after");
                                  co_return "";
                              },
                              completion(2, ""));

    ASSERT_EQ(turn.result().log.size(), 1u);
    EXPECT_EQ(turn.result().log[0].message, "after");
    EXPECT_EQ(turn.result().log[0].level, LogLevel::warn);
    EXPECT_TRUE(turn.result().log[0].from_user);
    EXPECT_TRUE(turn.result().log[0].location.starts_with("state_test.cpp:"));
}

// ---- Patches

Task<std::string> patched_code(Context ctx, std::string) {
    std::string done;
    if (ctx.patched("greet-first")) {
        done += co_await ctx.call_raw("Greet", "");
    }
    done += co_await ctx.call_raw("Work", "");
    if (ctx.patched("greet-first")) {
        done += "+";
    }
    co_return done;
}

TEST(Patched, IsTrueForNewExecutionsAndRecorded) {
    fresh(patched_code)
        .runs_on()
        .then({started_line, "2 PatchMarked greet-first", "3 ActivityScheduled Greet()"});
}

TEST(Patched, IsFalseWhereTheOldCodeWentPast) {
    given(started(), activity("Work")).when(patched_code, completion(2, "w")).completes("w");
}

TEST(Patched, IsTrueAgainOnReplay) {
    given(started(),
          event(history::PatchMarked{"greet-first"}),
          activity("Greet"),
          completed(3, "g"),
          activity("Work"))
        .when(patched_code, completion(5, "w"))
        .completes("gw+");
}

TEST(Patched, AMarkerThatNobodyAsksForAnyMoreIsNoDifference) {
    given(started(),
          event(history::PatchMarked{"retired"}),
          activity("Work"),
          event(history::PatchMarked{"retired too"}),
          raised("E", "x"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.call_raw("Work", ""); },
              completion(3, "w"))
        .completes("w");
}

} // namespace

} // namespace durable::replay_test::state_test
