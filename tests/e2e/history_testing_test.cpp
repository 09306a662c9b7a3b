// The tools users have for their own tests: saved histories against today's code.

#include <durable/context.hpp>
#include <durable/history_testing.hpp>
#include <durable/management.hpp>
#include <durable/registry.hpp>
#include <durable/test_runtime.hpp>

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::testing {
namespace {

using namespace std::chrono_literals;
using Text = std::string;

constexpr Activity<Text(Text)> greet{"Greet"};
constexpr Activity<Text(Text)> wave{"Wave"};
constexpr Orchestration<Text(Text)> hello{"Hello"};
constexpr Event<Text> go{"Go"};

Task<Text> greet_later(Context ctx, Text name) {
    co_await ctx.sleep(1h);
    const Text event = co_await ctx.wait_for(go);
    co_return co_await ctx.call(greet, name + event);
}

Task<Text> wave_later(Context ctx, Text name) {
    co_await ctx.sleep(1h);
    const Text event = co_await ctx.wait_for(go);
    co_return co_await ctx.call(wave, name + event);
}

HistoryBuilder recorded() {
    HistoryBuilder history{"Hello", "ana"};
    const auto timer = history.timer_created(1h);
    history.timer_fired(timer);
    history.waiting_for("Go");
    history.raised("Go", "!");
    const auto call = history.activity_scheduled("Greet", "ana!");
    history.activity_completed(call, "Hello, ana!");
    history.completed("Hello, ana!");
    return history;
}

TEST(SavedHistory, FitsTheCodeThatWroteIt) {
    Registry registry;
    registry.add(hello, greet_later);

    const auto verdict = replay(registry, recorded().events());

    EXPECT_TRUE(verdict) << verdict.error().message;
}

TEST(SavedHistory, IsNotReplayedByARegistryWithProblems) {
    Registry registry;
    registry.add(hello, greet_later).add(hello, wave_later);

    const auto verdict = replay(registry, recorded().events());

    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(verdict.error().message,
              "Registry: orchestration 'Hello' version 1.0.0 is bound twice");
}

TEST(SavedHistory, ReportsBothSidesWhenTheCodeChanged) {
    Registry registry;
    registry.add(hello, wave_later);

    const auto verdict = replay(registry, recorded().events());

    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(verdict.error().message.find("Greet"), Text::npos);
    EXPECT_NE(verdict.error().message.find("Wave"), Text::npos);
}

TEST(SavedHistory, NeedsItsVersionInTheRegistry) {
    Registry registry;
    registry.add(hello, "2.0.0", greet_later);

    EXPECT_EQ(replay(registry, recorded().events()).error().code, ErrorCode::not_found);
    EXPECT_EQ(replay(registry, {}).error().code, ErrorCode::corrupt);
}

TEST(SavedHistory, SurvivesTheWayThroughAFile) {
    const auto lines = print_history(recorded().events()).value();

    EXPECT_EQ(parse_history("\n" + lines + "\n").value(), recorded().events());
    const auto broken = parse_history(lines + "{");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message.substr(0, 7), "line 9:");
}

constexpr Orchestration<Text(Text)> relay{"Relay"};
constexpr Queue<Text> inbox{"Inbox"};

Task<Text> pass_on_unread(Context ctx, Text seen) {
    if (seen.empty()) {
        co_return co_await ctx.continue_as_new(relay, "next");
    }
    const Text event = co_await ctx.wait_for(go);
    const Text message = co_await ctx.dequeue(inbox);
    co_return event + message;
}

TEST(SavedHistory, BeginsWithWhatTheExecutionBeforeLeftUnread) {
    Registry registry;
    registry.add(relay, pass_on_unread);
    HistoryBuilder history{"Relay", "next"};
    history.carried_message("Inbox", "message").carried_event("Go", "event, ");
    history.waiting_for("Go");
    history.add(history::QueueSubscribed{.name = "Inbox"});
    history.completed("event, message");

    const auto verdict = replay(registry, history.events());

    EXPECT_TRUE(verdict) << verdict.error().message;
}

TEST(SavedHistory, OfEveryExecutionOfAnInstanceFitsTheSameCode) {
    Registry registry;
    registry.add(relay, pass_on_unread);
    TestRuntime test{registry};
    const auto run = test.client().start(relay, "", {.id = "r"}).value();
    ASSERT_TRUE(test.client().raise("r", go, "event, "));
    ASSERT_TRUE(test.client().enqueue("r", inbox, "message"));
    EXPECT_EQ(test.finish(run).value(), "event, message");

    for (const std::uint64_t execution : {1U, 2U}) {
        const auto history = test.provider()->read_with_execution("r", execution).value();
        const auto verdict = replay(registry, history);
        EXPECT_TRUE(verdict) << verdict.error().message;
    }
}

TEST(SavedHistory, OfAnIdThatIsNotTextFailsAgainInTheSameWay) {
    Registry registry;
    registry.add(hello, [](Context ctx, Text) -> Task<Text> {
        const bool is_new = ctx.patched("\xff");
        co_return is_new ? "new" : "old";
    });
    TestRuntime test{registry, {.runtime = {.logger = silent_logger()}}};
    const auto run = test.client().start(hello, "", {.id = "h"}).value();
    EXPECT_EQ(test.finish(run).error().message, "patched(): the id must be UTF-8 text");

    const auto verdict = replay(registry, test.history("h"));

    EXPECT_TRUE(verdict) << verdict.error().message;
}

// ---- KV from before

constexpr Orchestration<Text(Text)> counter{"Counter"};

Task<Text> count_to_two(Context ctx, Text input) {
    const int seen = ctx.kv().get<int>("seen").value_or(0);
    ctx.kv().set("seen", seen + 1);
    if (seen < 2) {
        co_return co_await ctx.continue_as_new(counter, input);
    }
    co_return std::to_string(seen);
}

class HistoryWithKv : public ::testing::Test {
 protected:
    HistoryWithKv() {
        registry.add(counter, count_to_two);
        run = test.emplace(registry).client().start(counter, "", {.id = "c"}).value();
    }

    Registry registry;
    std::optional<TestRuntime> test;
    std::optional<durable::Run<Text>> run;
};

TEST_F(HistoryWithKv, IsSavedWithWhatItBeganWith) {
    ASSERT_EQ(test->finish(*run).value(), "2");

    const auto saved = test->saved_history("c").value();
    const auto lines = print_history(saved).value();

    EXPECT_EQ(parse_history(lines).value(), saved);
    const auto verdict = replay(registry, saved);
    EXPECT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(test->saved_history("nobody").error().code, ErrorCode::not_found);
}

TEST_F(HistoryWithKv, IsWholeWithTheHistoriesOfAllExecutions) {
    ASSERT_EQ(test->finish(*run).value(), "2");

    std::vector<HistoryEvent> whole;
    for (const std::uint64_t execution : {1U, 2U, 3U}) {
        const auto part = test->provider()->read_with_execution("c", execution).value();
        whole.insert(whole.end(), part.begin(), part.end());
        const auto verdict = replay(registry, whole);
        EXPECT_TRUE(verdict) << verdict.error().message;
    }
}

TEST_F(HistoryWithKv, SaysWhichKeyItLacksInsteadOfBlamingTheCode) {
    ASSERT_EQ(test->finish(*run).value(), "2");

    const auto verdict = replay(registry, test->history("c"));

    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(verdict.error().message.substr(0, 104),
              "this history depends on KV values from before: execution 3 has read 'seen', which "
              "earlier executions may");
}

TEST_F(HistoryWithKv, BlamesTheCodeWhenItKnowsTheValues) {
    ASSERT_EQ(test->finish(*run).value(), "2");
    Registry changed;
    changed.add(counter, [](Context ctx, Text) -> Task<Text> {
        const int seen = ctx.kv().get<int>("seen").value_or(0);
        ctx.kv().set("seen", seen + 10);
        co_return "";
    });

    const auto verdict = replay(changed, test->saved_history("c").value());

    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().message.substr(0, 11), "error E2001");
    EXPECT_NE(verdict.error().message.find(R"(value: "3" / "12")"), Text::npos)
        << verdict.error().message;
}

TEST_F(HistoryWithKv, IsWrittenByHand) {
    HistoryBuilder history{"Counter"};
    history.carried_kv("other", "x").kv_set("seen", "3").carried_kv("seen", "2").completed("2");

    const auto verdict = replay(registry, history.events());

    EXPECT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(parse_history(print_history(history.events()).value()).value(), history.events());
}

// Pruned: the values that the first executions left are unknown.
TEST_F(HistoryWithKv, IsSavedAsItIsWhenEarlierExecutionsAreGone) {
    ASSERT_EQ(test->finish(*run).value(), "2");
    ASSERT_TRUE(test->client().management()->prune("c", {.keep_last = 1}));

    EXPECT_EQ(test->saved_history("c").value(), test->history("c"));
}

// ---- The common cases, one line each

constexpr Activity<Text(Text)> charge{"Charge"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Queue<int> numbers{"Numbers"};

Task<Text> do_everything(Context ctx, Text name) {
    co_await ctx.sleep(1h);
    const Text greeting = co_await ctx.call(greet, name);
    const auto declined = co_await ctx.call(charge, name).as_result();
    const Text word = co_await ctx.wait_for(go);
    const int number = co_await ctx.dequeue(numbers);
    const Text from_child = co_await ctx.call(child, name, {.id = "c1"});
    const auto from_other = co_await ctx.call(child, name, {.id = "c2"}).as_result();
    ctx.kv().set("number", number);
    ctx.set_status("nearly done");
    co_return greeting + declined.error().kind + word + from_child + from_other.error().kind;
}

HistoryBuilder everything() {
    HistoryBuilder history{"Hello", "ana"};
    history.slept(1h)
        .called("Greet", "ana", "Hello, ")
        .call_failed("Charge", "ana", {.kind = "Declined", .message = "no money"})
        .received("Go", "!")
        .dequeued("Numbers", "7")
        .called_child("Child", "c1", "ana", "fine")
        .child_call_failed("Child", "c2", "ana", {.kind = "Lazy", .message = "not today"})
        .kv_set("number", "7")
        .status_set("nearly done");
    return history;
}

TEST(WrittenHistory, HasALineForEveryCommonStep) {
    Registry registry;
    registry.add(hello, do_everything);

    const auto verdict =
        replay(registry, everything().completed("Hello, Declined!fineLazy").events());

    EXPECT_TRUE(verdict) << verdict.error().message;
}

TEST(WrittenHistory, NamesTheActivityThatFailed) {
    Registry registry;
    registry.add(hello, [](Context ctx, Text name) -> Task<Text> {
        const auto answer = co_await ctx.call(greet, name).as_result();
        co_return answer.error().activity + ": " + answer.error().message;
    });
    const auto verdict_on = [&](const Failure& failure, const Text& output) {
        return replay(registry,
                      HistoryBuilder{"Hello", "ana"}
                          .call_failed("Greet", "ana", failure)
                          .completed(output)
                          .events());
    };

    EXPECT_TRUE(verdict_on({.kind = "Rude", .message = "what?"}, "Greet: what?"));
    EXPECT_TRUE(
        verdict_on({.kind = "Rude", .message = "what?", .activity = "Inner"}, "Inner: what?"));
    HistoryBuilder by_event{"Hello", "ana"};
    by_event.activity_failed(by_event.activity_scheduled("Greet", "ana"), "what?");
    by_event.completed("Greet: what?");
    EXPECT_TRUE(replay(registry, by_event.events()));
}

TEST(WrittenHistory, ThatDiffersIsReported) {
    Registry registry;
    registry.add(hello, do_everything);

    EXPECT_FALSE(replay(registry, everything().completed("something else").events()));
    EXPECT_FALSE(replay(registry, everything().called("Greet", "again", "").events()));
}

TEST(WrittenHistory, MayEndInAFailureOrInTheNextExecution) {
    Registry registry;
    registry.add(hello, [](Context ctx, Text name) -> Task<Text> {
        const Text answer = co_await ctx.call(greet, name);
        if (answer == "again") {
            co_return co_await ctx.continue_as_new(hello, answer);
        }
        throw OperationFailed{{.kind = "Rude", .message = answer}};
    });
    const auto rude = HistoryBuilder{"Hello", "ana"}
                          .called("Greet", "ana", "what?")
                          .failed({.kind = "Rude", .message = "what?"});
    const auto again =
        HistoryBuilder{"Hello", "ana"}.called("Greet", "ana", "again").continued_as_new("again");

    EXPECT_TRUE(replay(registry, rude.events())) << replay(registry, rude.events()).error().message;
    EXPECT_TRUE(replay(registry, again.events()))
        << replay(registry, again.events()).error().message;
}

TEST(WrittenHistory, PassesTimeWithItsTimers) {
    const auto history = HistoryBuilder{"Hello", "ana"}.slept(1h).pass(5s).called("Greet", "", "");

    const auto& events = history.events();
    EXPECT_EQ(events.at(2).timestamp_ms - events.at(1).timestamp_ms, 3'600'000u);
    EXPECT_EQ(events.at(3).timestamp_ms - events.at(2).timestamp_ms, 5'000u);
}

TEST(SavedHistory, OfATestRuntimeFitsTheSameCode) {
    Registry registry;
    registry.add(greet, [](const Text& name) { return "Hello, " + name; });
    registry.add(hello, greet_later);
    TestRuntime test{registry};
    const auto run = test.client().start(hello, "ana", {.id = "h"}).value();
    test.advance(1h);
    ASSERT_TRUE(test.client().raise("h", go, "?"));
    EXPECT_EQ(test.finish(run).value(), "Hello, ana?");

    EXPECT_TRUE(replay(registry, test.history("h")));
}

} // namespace
} // namespace durable::testing
