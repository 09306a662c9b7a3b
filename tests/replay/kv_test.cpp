// The KV store of an instance: rebuilt by replay, read by others without a worker.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::kv_test {

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

// The same text, whatever it comes in: no quotes around it.
TEST(Kv, TextIsStoredAsItIs) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::string text{"say \"hi\""};
        ctx.kv().set("string", text);
        ctx.kv().set("view", std::string_view{text});
        ctx.kv().set("chars", text.c_str());
        ctx.kv().set("changeable", text.data());
        ctx.kv().set("literal", "say \"hi\"");
        co_return *ctx.kv().get("view");
    })
        .completes("say \"hi\"")
        .then({started_line,
               "2 KeyValueSet string=say \"hi\"",
               "3 KeyValueSet view=say \"hi\"",
               "4 KeyValueSet chars=say \"hi\"",
               "5 KeyValueSet changeable=say \"hi\"",
               "6 KeyValueSet literal=say \"hi\"",
               "7 OrchestrationCompleted say \"hi\""});
}

TEST(Kv, ANullPointerIsNoText) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const char* nothing = nullptr;
        ctx.kv().set("k", nothing);
        co_return "";
    }).fails("orchestration panicked: kv().set(\"k\"): the value is a null pointer, not a text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        char* nothing = nullptr;
        ctx.kv().set("k", nothing);
        co_return "";
    }).fails("orchestration panicked: kv().set(\"k\"): the value is a null pointer, not a text");
}

TEST(Kv, AValueOfAnotherTypeIsAFailureThatShowsIt) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("flag", "maybe");
        const auto flag = ctx.kv().get<bool>("flag");
        co_return flag ? "yes" : "no";
    })
        .fails("key 'flag' holds 'maybe', which does not fit the type asked for: cannot read the "
               "payload: expected true or false, found 'maybe'");
}

TEST(Kv, ALongValueOfAnotherTypeIsShownInPart) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::string text(63, 'x');
        text += "\u00fc and so on";
        ctx.kv().set("k", text);
        std::string message;
        try {
            static_cast<void>(ctx.kv().get<int>("k"));
        } catch (const OperationFailed& failed) {
            message = failed.failure().message;
        }
        co_return message.substr(0, message.find(','));
    }).completes("key 'k' holds '" + std::string(63, 'x') + "...'");
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

TEST(Kv, ClearingAllOfAnEarlierExecutionIsReplayed) {
    given(started(), event(history::KeyValuesCleared{}), kv_set("x", "new"), activity("Work"))
        .with_kv(snapshot({{"old", "from before"}}))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().clear_all();
                ctx.kv().set("x", "new");
                co_await ctx.call_raw("Work", "");
                co_return "x=" + value_or_none(ctx, "x") + ",old=" + value_or_none(ctx, "old");
            },
            completion(4, ""))
        .completes("x=new,old=none");
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
    })
        .fails(
            "key 'n' holds 'many', which does not fit the type asked for: cannot read the payload: "
            "expected a number in range, found 'many'");
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

} // namespace

} // namespace durable::replay_test::kv_test
