// Custom status, KV, time, ids, patches, logs: what an orchestration reads is the same on replay.

#include "replay/fixture.hpp"

#include <set>

#include <gtest/gtest.h>

namespace durable::replay_test {

namespace {

using enum replay::NondeterminismKind;

const std::string started_line = "1 OrchestrationStarted TestOrch(test-input)";

KvSnapshot snapshot(std::initializer_list<std::pair<const std::string, std::string>> entries) {
    KvSnapshot kv;
    for (const auto& [key, value] : entries) {
        kv.emplace(key, KvEntry{.value = value, .last_updated_at_ms = start_ms});
    }
    return kv;
}

std::string value_or_none(Context ctx, std::string_view key) {
    return ctx.kv().get(key).value_or("none");
}

// ---- KV

TEST(Kv, ChangesAreRecordedInTheOrderOfTheCalls) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("X", "1");
        ctx.kv().clear("Z");
        ctx.kv().clear_all();
        ctx.kv().set("A", "1");
        co_return value_or_none(ctx, "A");
    })
        .completes("1")
        .then({started_line,
               "2 KeyValueSet X=1",
               "3 KeyValueCleared Z",
               "4 KeyValuesCleared",
               "5 KeyValueSet A=1",
               "6 OrchestrationCompleted 1"});
}

TEST(Kv, IsReadableInTheTurnThatWritesIt) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("A", "1");
        ctx.kv().set("A", "2");
        co_return value_or_none(ctx, "A");
    }).completes("2");
}

TEST(Kv, IsRebuiltByReplay) {
    given(started(), kv_set("A", "1"), activity("Work"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().set("A", "1");
                co_await ctx.call_raw("Work", "");
                co_return value_or_none(ctx, "A");
            },
            completion(3, ""))
        .completes("1");
}

TEST(Kv, ClearingAllAndSettingAgainIsReplayed) {
    given(started(),
          kv_set("A", "1"),
          event(history::KeyValuesCleared{}),
          kv_set("B", "2"),
          activity("Work"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().set("A", "1");
                ctx.kv().clear_all();
                ctx.kv().set("B", "2");
                co_await ctx.call_raw("Work", "");
                co_return "A=" + value_or_none(ctx, "A") + ",B=" + value_or_none(ctx, "B");
            },
            completion(5, ""))
        .completes("A=none,B=2");
}

TEST(Kv, ClearingOneKeyIsReplayed) {
    given(started(),
          kv_set("A", "1"),
          kv_set("B", "2"),
          event(history::KeyValueCleared{"A"}),
          activity("Work"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().set("A", "1");
                ctx.kv().set("B", "2");
                ctx.kv().clear("A");
                co_await ctx.call_raw("Work", "");
                co_return "A=" + value_or_none(ctx, "A") + ",B=" + value_or_none(ctx, "B");
            },
            completion(5, ""))
        .completes("A=none,B=2");
}

TEST(Kv, AChangeThatTheCodeNoLongerMakesIsFound) {
    given(started(), kv_set("A", "1"), activity("Work"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("Work", "");
        })
        .is_nondeterministic(different, {"kind: KeyValueSet / ActivityScheduled"});
    given(started(), event(history::KeyValueCleared{"A"}), activity("Work"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("Work", "");
        })
        .is_nondeterministic(different, {"kind: KeyValueCleared / ActivityScheduled"});
}

TEST(Kv, AnotherKeyOrValueIsFound) {
    given(started(), kv_set("A", "old"), activity("Work"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            ctx.kv().set("B", "old");
            co_return co_await ctx.call_raw("Work", "");
        })
        .is_nondeterministic(different, {"key: \"A\" / \"B\""});
    given(started(), kv_set("A", "old"), activity("Work"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            ctx.kv().set("A", "new");
            co_return co_await ctx.call_raw("Work", "");
        })
        .is_nondeterministic(different, {"value: \"old\" / \"new\""});
    given(started(), event(history::KeyValueCleared{"A"}), activity("Work"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            ctx.kv().clear("B");
            co_return co_await ctx.call_raw("Work", "");
        })
        .is_nondeterministic(different, {"key: \"A\" / \"B\""});
}

TEST(Kv, AnotherTimeStampIsFine) {
    given(started(), kv_set("A", "1", 42), activity("Work"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            ctx.kv().set("A", "1");
            co_return co_await ctx.call_raw("Work", "");
        })
        .runs_on();
}

TEST(Kv, StartsWithWhatEarlierExecutionsLeft) {
    const auto kv = snapshot({{"X", "from before"}, {"Y", "y"}});
    Given{{}}
        .with_kv(kv)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return value_or_none(ctx, "X") + "," + value_or_none(ctx, "Y") + "," +
                    value_or_none(ctx, "missing");
            },
            start_message())
        .completes("from before,y,none");
    Given{{}}
        .with_kv(kv)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().set("X", "new");
                co_return value_or_none(ctx, "X");
            },
            start_message())
        .completes("new");
}

Task<std::string> count_three_times(Context ctx, std::string) {
    for (int i = 0; i < 3; ++i) {
        ctx.kv().set("count", ctx.kv().get<int>("count").value_or(0) + 1);
        co_await ctx.call_raw("Work", "");
    }
    co_return std::to_string(*ctx.kv().get<int>("count"));
}

TEST(Kv, ReadModifyWriteIsReplayedFromTheStateOfThatTime) {
    given(started(),
          kv_set("count", "1"),
          activity("Work"),
          completed(3),
          kv_set("count", "2"),
          activity("Work"),
          completed(6),
          kv_set("count", "3"),
          activity("Work"))
        .when(count_three_times, completion(9, ""))
        .completes("3");
    given(started(), kv_set("count", "6"), activity("Work"))
        .with_kv(snapshot({{"count", "5"}}))
        .when(count_three_times, completion(3, ""))
        .runs_on()
        .then({"4 ActivityCompleted <-3", "5 KeyValueSet count=7", "6 ActivityScheduled Work()"});
}

TEST(Kv, ClearingAKeyOfAnEarlierExecutionIsReplayed) {
    given(started(), event(history::KeyValueCleared{"session"}), activity("Work"))
        .with_kv(snapshot({{"session", "s"}, {"counter", "3"}}))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().clear("session");
                co_await ctx.call_raw("Work", "");
                co_return "session=" + value_or_none(ctx, "session") +
                    ",counter=" + std::to_string(*ctx.kv().get<int>("counter") + 1);
            },
            completion(3, ""))
        .completes("session=none,counter=4");
}

TEST(Kv, T09_PruningClearsInTheOrderOfKeys) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        for (const auto* key : {"c", "a", "b"}) {
            ctx.kv().set(key, "x");
        }
        const auto cleared = ctx.kv().prune(ctx.now() + 1ms);
        co_await ctx.sleep(1s);
        co_return std::to_string(cleared);
    })
        .runs_on()
        .then({started_line,
               "2 KeyValueSet c=x",
               "3 KeyValueSet a=x",
               "4 KeyValueSet b=x",
               "5 KeyValueCleared a",
               "6 KeyValueCleared b",
               "7 KeyValueCleared c",
               "8 TimerCreated"});
}

// Keys are as old as their events say, not as the replay that rebuilds them.
TEST(Kv, T10_PruningDecidesByTheRecordedTimes) {
    auto old_key = kv_set("old", "x", 1'000);
    auto new_key = kv_set("new", "x", 2'000);
    given(started(), old_key, new_key, activity("Work"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().set("old", "x");
                ctx.kv().set("new", "x");
                co_await ctx.call_raw("Work", "");
                ctx.kv().prune(from_epoch_ms(2'000));
                co_return value_or_none(ctx, "old") + "," + value_or_none(ctx, "new");
            },
            completion(4, ""))
        .completes("none,x");
}

TEST(Kv, TypedValuesThatDoNotFitAreAFailure) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("n", "many");
        co_return std::to_string(*ctx.kv().get<int>("n"));
    }).fails("key 'n': cannot read the payload: expected a number in range, found 'many'");
}

TEST(Kv, AllEntriesAreListedInOrder) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("b", 2);
        ctx.kv().set("a", 1);
        ctx.kv().set("", "empty key");
        std::string all;
        for (const auto& [key, value] : ctx.kv().all()) {
            all += key + "=" + value + ";";
        }
        co_return all;
    }).completes("=empty key;a=1;b=2;");
}

TEST(KvOfAnother, T08_IsReadByWhoeverCommitsTheTurnNotByAWorker) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        const auto quota = co_await ctx.kv().of<int>("tenant-7", "quota");
        co_return quota ? std::to_string(*quota) : "none";
    };
    const auto turn = fresh(code);

    turn.runs_on().gives_to_workers({});
    ASSERT_EQ(turn.result().kv_reads.size(), 1u);
    EXPECT_EQ(turn.result().kv_reads[0].id, 2u);
    EXPECT_EQ(turn.result().kv_reads[0].instance, "tenant-7");
    EXPECT_EQ(turn.result().kv_reads[0].key, "quota");

    const auto asked =
        activity("__duroxide_syscall:get_kv_value", R"({"instance_id":"tenant-7","key":"quota"})");
    given(started(), asked).when(code, completion(2, replay::kv_read_result("12"))).completes("12");
    given(started(), asked)
        .when(code, completion(2, replay::kv_read_result(std::nullopt)))
        .completes("none");
}

TEST(KvOfAnother, ThatIsDroppedIsNotRead) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().of("x", "y").cancel();
        co_return "done";
    });

    turn.completes("done").cancels_activities({});
    EXPECT_TRUE(turn.result().kv_reads.empty());
}

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
                          .at_time(start_ms - 500'000) // somebody set the clock
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  co_await ctx.call_raw("A", "");
                                  co_return std::to_string(to_epoch_ms(ctx.now()));
                              },
                              completion(2, ""));

    turn.completes(std::to_string(start_ms));
    EXPECT_EQ(turn.delta().at(0).timestamp_ms, start_ms);
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

} // namespace durable::replay_test
