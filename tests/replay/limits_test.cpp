// Limits: data over them is never stored, the orchestration fails, and its parent is told.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::limits_test {

namespace {

Limits small() {
    Limits limits;
    limits.custom_status_bytes = 8;
    limits.tag_bytes = 4;
    limits.kv_keys = 2;
    limits.kv_value_bytes = 8;
    return limits;
}

Then with_limits(Code code) {
    return given().with_limits(small()).when(code, start_message());
}

TEST(Limits, HaveTheDefaultsOfTheReference) {
    const Limits limits;
    EXPECT_EQ(limits.custom_status_bytes, 262'144u);
    EXPECT_EQ(limits.tag_bytes, 256u);
    EXPECT_EQ(limits.session_bytes, 256u);
    EXPECT_EQ(limits.kv_keys, 150u);
    EXPECT_EQ(limits.kv_key_bytes, 256u);
    EXPECT_EQ(limits.kv_value_bytes, 65'536u);
}

TEST(Limits, ACustomStatusMayBeAsLongAsTheLimit) {
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        ctx.set_status("12345678");
        co_return "ok";
    }).completes("ok");
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        ctx.set_status("123456789");
        co_return "ok";
    })
        .fails("Custom status size (9 bytes) exceeds limit (8 bytes)")
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 OrchestrationFailed Custom status size (9 bytes) exceeds limit (8 bytes)"});
}

TEST(Limits, ATagMayBeAsLongAsTheLimit) {
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "", {.tag = "1234"});
    }).runs_on();
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "", {.tag = "12345"});
    })
        .fails("Activity 'A' tag size (5 bytes) exceeds limit (4 bytes)")
        .gives_to_workers({});
}

TEST(Limits, AKvValueMayBeAsLongAsTheLimit) {
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("k", "12345678");
        co_return "ok";
    }).completes("ok");
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("k", "123456789");
        co_return "ok";
    }).fails("KV value for key 'k' (9 bytes) exceeds limit (8 bytes)");
}

TEST(Limits, AKvKeyHasAtMost256Bytes) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set(std::string(256, 'k'), 1);
        ctx.kv().clear(std::string(256, 'k'));
        co_return "ok";
    }).completes("ok");
    const auto sentence =
        "KV key '" + std::string(64, 'k') + "...' (257 bytes) exceeds limit (256 bytes)";
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set(std::string(257, 'k'), 1);
        co_return "ok";
    }).fails(sentence);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().clear(std::string(257, 'k'));
        co_return "ok";
    }).fails(sentence);
}

TEST(Limits, AKeyThatIsThereCanBeClearedWhateverItsLength) {
    given()
        .with_kv({{std::string(257, 'k'), {.value = "x"}}})
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.kv().clear(std::string(257, 'k'));
                co_return std::to_string(ctx.kv().all().size());
            },
            start_message())
        .completes("0");
}

TEST(Limits, ASessionHasAtMost256Bytes) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const std::string session(256, 's');
        co_return co_await ctx.call_raw("A", "", {.session = session});
    }).runs_on();
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const std::string session(257, 's');
        co_return co_await ctx.call_raw("A", "", {.session = session});
    })
        .fails("Activity 'A' session size (257 bytes) exceeds limit (256 bytes)")
        .gives_to_workers({});
}

TEST(Limits, KvKeysAreCountedUpToTheLimit) {
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("a", 1);
        ctx.kv().set("b", 2);
        ctx.kv().set("b", 3);
        ctx.kv().clear("a");
        ctx.kv().set("c", 4);
        co_return "ok";
    }).completes("ok");
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("a", 1);
        ctx.kv().set("b", 2);
        ctx.kv().set("c", 3);
        co_return "ok";
    }).fails("KV key count (3) exceeds limit (2)");
}

TEST(Limits, T11_KeysOfEarlierTurnsAndExecutionsCountToo) {
    const Code one_more = [](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("a", "1");
        co_await ctx.call_raw("A", "");
        ctx.kv().set("b", "2");
        co_return "ok";
    };
    given(started(), kv_set("a", "1"), activity("A"))
        .with_limits(small())
        .when(one_more, completion(3, ""))
        .completes("ok");
    given(started(), kv_set("a", "1"), activity("A"))
        .with_limits(small())
        .with_kv({{"old", {.value = "x"}}})
        .when(one_more, completion(3, ""))
        .fails("KV key count (3) exceeds limit (2)");
}

TEST(Limits, T19_TheParentOfAnOrchestrationThatBreaksALimitIsTold) {
    work::StartOrchestration start{.instance = test_instance, .orchestration = "TestOrch"};
    start.parent_instance = "parent";
    start.parent_id = 7;
    start.parent_execution_id = 3;
    given()
        .with_limits(small())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.set_status("much too long");
                co_return "ok";
            },
            WorkItem{start})
        .sends({"SubOrchFailed to parent/3#7: Custom status size (13 bytes) exceeds limit (8 "
                "bytes)"});
}

TEST(Limits, EndEverythingThatWasUnderWay) {
    with_limits([](Context ctx, std::string) -> Task<std::string> {
        const auto a = ctx.call_raw("A", "");
        const auto c = ctx.call_child_raw("C", "");
        ctx.set_status("much too long");
        co_return co_await ctx.wait_for_raw("never reached");
    })
        .fails("Custom status size (13 bytes) exceeds limit (8 bytes)")
        .cancels_activities({2})
        .sends({"StartOrchestration C() as test-instance::sub::1_3",
                "CancelInstance test-instance::sub::1_3: parent ended"});
}

// What was stored under a larger limit stays valid.
TEST(Limits, DoNotApplyToWhatIsAlreadyInTheHistory) {
    given(started(), event(history::CustomStatusUpdated{"much too long"}), activity("A"))
        .with_limits(small())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.set_status("much too long");
                co_return co_await ctx.call_raw("A", "");
            },
            completion(3, "ok"))
        .completes("ok");
}

} // namespace

} // namespace durable::replay_test::limits_test
