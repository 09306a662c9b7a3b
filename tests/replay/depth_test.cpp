// Depth: deep nesting works, or fails with a sentence; it never overflows the stack.

#include "replay/fixture.hpp"

#include <durable/payload.hpp>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::depth_test {

struct Document {
    std::string name;
    nlohmann::json body;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Document, name, body)

struct Folder {
    int shelf[2] = {}; // NOLINT(modernize-avoid-c-arrays): structs may have such members
    std::vector<Document> documents;
    std::map<std::string, nlohmann::json> notes;
    std::pair<int, nlohmann::ordered_json> last;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Folder, shelf, documents, notes, last)

namespace {

constexpr auto too_deep = "orchestration panicked: tasks are nested deeper than 1000: does a task "
                          "await itself without end?";

std::string brackets(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

// ---- Tasks

Task<int> descend(Context ctx, int levels) {
    if (levels == 0) {
        co_await ctx.call_raw("Bottom", "");
        co_return 0;
    }
    const int below = co_await descend(ctx, levels - 1);
    co_return below + 1;
}

Task<int> descend_in_groups(Context ctx, int levels) {
    if (levels == 0) {
        co_await ctx.call_raw("Bottom", "");
        co_return 0;
    }
    auto [below] = co_await all{descend_in_groups(ctx, levels - 1)};
    co_return below + 1;
}

Task<std::string> descend_900(Context ctx, std::string) {
    const int levels = co_await descend(ctx, 900);
    co_return std::to_string(levels);
}

Task<std::string> descend_100000(Context ctx, std::string) {
    const int levels = co_await descend(ctx, 100'000);
    co_return std::to_string(levels);
}

Task<std::string> descend_100000_in_groups(Context ctx, std::string) {
    const int levels = co_await descend_in_groups(ctx, 100'000);
    co_return std::to_string(levels);
}

Task<int> one_more(Task<int> inner) {
    const int below = co_await inner;
    co_return below + 1;
}

Task<int> zero(Context ctx) {
    co_await ctx.call_raw("Bottom", "");
    co_return 0;
}

Task<int> wrapped(Context ctx, int times) {
    auto task = zero(ctx);
    for (int i = 0; i < times; ++i) {
        task = one_more(std::move(task));
    }
    return task;
}

TEST(Depth, NineHundredTasksMayBeNestedAndAwaitedTogether) {
    fresh(descend_900).runs_on(); // dropped while it waits: every frame goes with its caller
    given(started(), activity("Bottom")).when(descend_900, completion(2, "")).completes("900");
}

TEST(Depth, ATaskThatAwaitsItselfFailsTheOrchestration) {
    fresh(descend_100000).fails(too_deep);
}

TEST(Depth, GroupsDoNotHideHowDeepTasksAreNested) {
    fresh(descend_100000_in_groups).fails(too_deep);
}

TEST(Depth, TheLimitCanBeCaughtLikeAnyException) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::string caught;
        try {
            const int levels = co_await descend(ctx, 5000);
            caught = std::to_string(levels);
        } catch (const std::length_error&) {
            caught = "too deep";
        }
        co_return caught;
    }).completes("too deep");
}

TEST(Depth, ManyTasksOneAfterTheOtherAreNoDepth) {
    fresh([](Context, std::string) -> Task<std::string> {
        int sum = 0;
        for (int i = 0; i < 100'000; ++i) {
            auto one = []() -> Task<int> { co_return 1; };
            const int next = co_await one();
            sum += next;
        }
        co_return std::to_string(sum);
    }).completes("100000");
}

TEST(Depth, TasksThatWerePutIntoEachOtherAreDestroyedWithoutTheStack) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        {
            const auto never_awaited = wrapped(ctx, 100'000);
        }
        co_return "alive";
    }).completes("alive");
}

TEST(Depth, TasksThatWerePutIntoEachOtherCannotAllBeAwaited) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto outermost = wrapped(ctx, 100'000);
        const int levels = co_await outermost;
        co_return std::to_string(levels);
    }).fails(too_deep);
}

// One coroutine starts all tasks, and each task waits for the one before: no start is deep, the
// chain is.
TEST(Depth, TasksThatWaitForEachOtherInAChainAreDestroyedWithoutTheStack) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto task = zero(ctx);
        task.start();
        for (int i = 0; i < 100'000; ++i) {
            task = one_more(std::move(task));
            task.start();
        }
        auto pause = ctx.sleep(1s);
        co_await pause;
        co_return "alive";
    }).runs_on();
}

Task<int> descend_to_a_retrying_call(Context ctx, int levels) {
    if (levels == 0) {
        co_await ctx.call_raw("Bottom", "", {.retry = {.max_attempts = 2}, .timeout = 1min});
        co_return 0;
    }
    const int below = co_await descend_to_a_retrying_call(ctx, levels - 1);
    co_return below + 1;
}

// The loop of attempts is a task too. One that cannot begin leaves nothing behind: an engine that
// counted it would wait for it for ever.
TEST(Depth, ARetryingCallInTheDeepestTaskFailsAndLeavesNothingBehind) {
    const auto handler = handler_of([](Context ctx, std::string) -> Task<std::string> {
        co_return std::to_string(co_await descend_to_a_retrying_call(ctx, 998));
    });
    auto execution = replay::Execution::create({.handler = handler, .instance = test_instance});
    const auto before = handler.use_count();

    const std::vector<WorkItem> messages{start_message()};
    const Then turn{execution->run(messages, from_epoch_ms(start_ms))};
    execution.reset();

    turn.fails(too_deep);
    EXPECT_EQ(handler.use_count(), before - 1);
}

// ---- Payloads

TEST(Depth, APayloadMayBeNested512LevelsDeep) {
    const auto text = brackets(max_payload_depth);

    const auto value = from_payload<nlohmann::json>(text);

    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(to_payload(*value), text);
}

TEST(Depth, ADeeperPayloadIsNotRead) {
    for (const auto& text : {brackets(max_payload_depth + 1),
                             std::string(100'000, '['),
                             R"({"a":)" + brackets(100'000) + "}"}) {
        const auto value = from_payload<nlohmann::json>(text);
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error().kind, failure_kind::bad_payload);
        EXPECT_EQ(value.error().message,
                  "cannot read the payload: a payload is nested deeper than 512 levels");
        EXPECT_FALSE(from_payload<std::vector<int>>(text));
        EXPECT_FALSE(from_payload<std::optional<int>>(text));
    }
}

TEST(Depth, BracketsInsideOfTextAreNoDepth) {
    const std::vector<std::string> value{std::string(10'000, '['), "\\\"" + brackets(2000), "]{"};

    const auto read = from_payload<std::vector<std::string>>(to_payload(value));

    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, value);
}

template <class Json = nlohmann::json>
Json nested(int levels) {
    Json deep;
    for (int i = 0; i < levels; ++i) {
        auto outer = Json::array();
        outer.push_back(std::move(deep));
        deep = std::move(outer);
    }
    return deep;
}

TEST(Depth, ADeeperPayloadIsNotWritten) {
    EXPECT_THROW(static_cast<void>(to_payload(nested(100'000))), std::invalid_argument);
}

// To convert the struct is to copy its members, which needs the stack.
TEST(Depth, ADeeperMemberOfAStructIsNotWritten) {
    Document document{.name = "deep"};
    document.body = nested(200'000);
    EXPECT_THROW(static_cast<void>(to_payload(document)), std::invalid_argument);

    std::optional<Document> perhaps{std::move(document)};
    EXPECT_THROW(static_cast<void>(to_payload(perhaps)), std::invalid_argument);

    Folder folder;
    folder.documents.push_back(*std::move(perhaps));
    EXPECT_THROW(static_cast<void>(to_payload(folder)), std::invalid_argument);
    folder.documents.clear();
    folder.notes["deep"] = nested(200'000);
    EXPECT_THROW(static_cast<void>(to_payload(folder)), std::invalid_argument);
    folder.notes.clear();
    folder.last.second = nested<nlohmann::ordered_json>(200'000);
    EXPECT_THROW(static_cast<void>(to_payload(folder)), std::invalid_argument);
}

TEST(Depth, ADeeperElementOfAContainerIsNotWritten) {
    std::vector<nlohmann::json> several(2);
    several.back() = nested(200'000);
    EXPECT_THROW(static_cast<void>(to_payload(several)), std::invalid_argument);

    EXPECT_THROW(static_cast<void>(to_payload(nested<nlohmann::ordered_json>(200'000))),
                 std::invalid_argument);
}

TEST(Depth, JsonInAStructIsWrittenUpToTheLimit) {
    Document document{.name = "flat"};
    document.body = nested(static_cast<int>(max_payload_depth) - 1); // the struct is a level
    const auto read = from_payload<Document>(to_payload(document));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->body, document.body);

    document.body = nested(static_cast<int>(max_payload_depth));
    EXPECT_THROW(static_cast<void>(to_payload(document)), std::invalid_argument);
    EXPECT_EQ(to_payload(Folder{}), R"({"documents":[],"last":[0,null],"notes":{},"shelf":[0,0]})");
}

TEST(Depth, TextThatIsHandedThroughMayHaveAnyDepth) {
    const auto text = brackets(100'000);

    EXPECT_EQ(to_payload(from_payload<RawJson>(text).value()), text);
    EXPECT_EQ(to_payload(from_payload<std::string>(text).value()), text);
}

} // namespace

} // namespace durable::replay_test::depth_test
