// Instances that cannot begin: a version that no node has, an id that is taken. History and log
// name the requested version or id.

#include "e2e/e2e.hpp"

#include <durable/history_testing.hpp>

#include <set>

namespace durable::e2e::beginnings_test {

struct Letter {
    std::string body;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Letter, body)

namespace {

DURABLE_E2E_SUITE(Beginnings);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> other{"Other"};

constexpr Orchestration<Text(Letter)> post{"Post"};
constexpr Event<Letter> arrived{"Arrived"};
constexpr Queue<Letter> inbox{"Inbox"};

Task<Text> pause(Context ctx, Text input) {
    co_await ctx.sleep(1h);
    co_return input;
}

// ---- Versions that no node has

TEST_P(Beginnings, ASuccessorIsRecordedWithTheVersionItWasToHave) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_return co_await ctx.continue_as_new(root, "2", {.version = "3.0.0"});
    });
    start(root, "1", {.id = "a"});
    settle();
    ASSERT_TRUE(client.cancel("a", "in vain"));

    EXPECT_EQ(failure("a"), "canceled: in vain");

    EXPECT_EQ(client.status("a").value().version, "3.0.0");
    const auto second = history("a", 2);
    EXPECT_EQ(find<history::OrchestrationStarted>(second)->version, "3.0.0");
    const auto first = history("a", 1);
    EXPECT_EQ(find<history::OrchestrationStarted>(first)->version, "1.0.0");
}

TEST_P(Beginnings, AFirstExecutionIsRecordedWithTheVersionItWasToHave) {
    registry.add(root, pause);
    start(root, "1", {.id = "a", .version = "7.0.0"});
    ASSERT_TRUE(client.cancel("a", "in vain"));

    EXPECT_EQ(failure("a"), "canceled: in vain");

    EXPECT_EQ(client.status("a").value().version, "7.0.0");
}

TEST_P(Beginnings, AHistoryInWhichNoCodeRanSaysNothingAgainstTheCode) {
    registry.add(root, pause);
    store->more_turn_attempts = 10;
    start(root, "in", {.id = "a"});
    EXPECT_NE(failure("a").find("exceeded 10 attempts"), Text::npos);
    store->more_turn_attempts = 0;
    auto events = history("a");
    std::get<history::OrchestrationStarted>(events.front().kind).version = "1.0.0";

    const auto same = testing::replay(registry, events);

    EXPECT_TRUE(same) << same.error().text();
}

// The runtime gave it up after an hour of good work: that hour is still compared.
TEST_P(Beginnings, OfAPoisonedHistoryEverythingThatTheCodeDidIsCompared) {
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_await ctx.sleep(1h);
        auto answer = ctx.call(work, input);
        co_return co_await answer;
    });
    start(root, "in", {.id = "a"});
    settle();
    store->more_turn_attempts = 10;
    EXPECT_NE(failure("a").find("exceeded 10 attempts"), Text::npos);
    store->more_turn_attempts = 0;

    const auto same = testing::replay(registry, history("a"));
    EXPECT_TRUE(same) << same.error().text();

    Registry changed;
    changed.add(root, [](Context ctx, Text input) -> Task<Text> {
        auto answer = ctx.call(work, input);
        co_return co_await answer;
    });
    EXPECT_FALSE(testing::replay(changed, history("a")));
}

// ---- Ids that are taken

TEST_P(Beginnings, ADetachedStartWithATakenIdChangesNothingAndIsLogged) {
    registry.add(other, pause);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.start_detached(other, "mine", {.id = ctx.instance()});
        ctx.start_detached(other, "first", {.id = "d"});
        ctx.start_detached(other, "second", {.id = "d"});
        co_await ctx.sleep(2h);
        co_return ctx.start_detached(other, "third", {.id = "d"});
    });
    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "d");
    EXPECT_EQ(output("d"), "first");
    settle();

    const auto warnings = log->with("a start was ignored: the instance exists already");
    ASSERT_EQ(warnings.size(), 3u);
    std::multiset<Text> instances;
    for (const auto& line : warnings) {
        EXPECT_EQ(line.level, LogLevel::warn);
        instances.insert(line.instance);
    }
    EXPECT_EQ(instances, (std::multiset<Text>{"a", "d", "d"}));
}

TEST_P(Beginnings, AChildWithATakenIdFails) {
    registry.add(other, pause);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto self = co_await ctx.call(other, "x", {.id = ctx.instance()}).as_result();
        const auto taken = co_await ctx.call(other, "x", {.id = "d"}).as_result();
        co_return self.error().message + "; " + taken.error().message;
    });
    start(other, "first", {.id = "d"});
    settle();
    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "instance 'a' already exists; instance 'd' already exists");
    EXPECT_TRUE(log->with("a start was ignored").empty());
}

// ---- Values that cannot be sent

TEST_P(Beginnings, AClientIsToldWhatIsWrongWithAValue) {
    const Letter bad{"a\xff"};
    const Text sentence = "the value has no payload text: a text in it is not UTF-8";

    const auto started = client.start(post, bad, {.id = "a"});
    const auto raised = client.raise("a", arrived, bad);
    const auto sent = client.enqueue("a", inbox, bad);

    ASSERT_FALSE(started);
    ASSERT_FALSE(raised);
    ASSERT_FALSE(sent);
    EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(started.error().text(), "start Post: " + sentence);
    EXPECT_EQ(raised.error().text(), "raise Arrived: " + sentence);
    EXPECT_EQ(sent.error().text(), "enqueue Inbox: " + sentence);
}

} // namespace
} // namespace durable::e2e::beginnings_test
