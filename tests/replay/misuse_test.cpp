// Misuse of operations, tasks, groups and the context is an exception with a sentence, a report, or
// simply right: never undefined behaviour.

#include "replay/fixture.hpp"

#include <durable/combine.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::misuse_test {

namespace {

// Mistakes need a way to reach what is not theirs.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

constexpr auto not_finished = "orchestration panicked: this operation or task is not finished: "
                              "co_await it";
constexpr auto empty = "orchestration panicked: this operation or task is empty: it was moved away "
                       "or cancelled";

// ---- Taking too early

TEST(Misuse, TakingTheResultOfAnUnfinishedOperation) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto a = ctx.call_raw("A", "");
        co_return a.take();
    }).fails(not_finished);
}

Task<int> sleep_then_one(Context ctx) {
    co_await ctx.sleep(1s);
    co_return 1;
}

TEST(Misuse, TakingTheResultOfAnUnfinishedTask) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto task = sleep_then_one(ctx);
        co_return std::to_string(task.take());
    }).fails(not_finished);
}

TEST(Misuse, TakingTheResultOfAnUnfinishedGroup) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto both = all{ctx.call_raw("A", ""), ctx.call_raw("B", "")};
        co_return std::get<0>(both.take());
    }).fails(not_finished);
}

// ---- Moving what is awaited

template <class A>
Task<void> await_it(A& awaitable) {
    static_cast<void>(co_await awaitable);
}

TEST(Misuse, MovingAGroupWhileItIsAwaited) {
    given(started(), activity("A"), timer(), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto first = race{ctx.call_raw("A", ""), ctx.sleep(60s)};
                auto waiting = await_it(first);
                waiting.start();
                auto pause = ctx.sleep(1s);
                co_await pause;
                auto moved = std::move(first);
                co_return "not reached";
            },
            timer_fires(4))
        .fails("orchestration panicked: this all, all_settled, race or within is awaited: it "
               "cannot be moved before that ends");
}

TEST(Misuse, AGroupMayBeMovedBeforeAndAfterItIsAwaited) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto group = all{ctx.call_raw("A", "")};
                auto moved = std::move(group);
                auto [a] = co_await moved;
                const auto kept = std::move(moved);
                co_return a;
            },
            completion(2, "a"))
        .completes("a");
}

Task<std::string> await_element(std::vector<Operation<std::string>>& calls) {
    co_return co_await calls[0];
}

TEST(Operations, MayMoveWhileTheyAreAwaited) {
    given(started(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<std::string>> calls;
                calls.push_back(ctx.call_raw("A", ""));
                auto waiting = await_element(calls);
                waiting.start();
                auto more = ctx.call_raw("B", "");
                co_await more;
                calls.reserve(1000); // the awaited one has a new place
                auto last = ctx.call_raw("C", "");
                co_await last;
                co_return co_await waiting;
            },
            completion(3, "b"),
            completion(2, "a"),
            completion(5, "c"))
        .completes("a");
}

TEST(Operations, MayMoveWhileAGroupBorrowsThem) {
    given(started(), activity("A"), activity("B"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<std::string>> calls;
                calls.push_back(ctx.call_raw("A", ""));
                calls.push_back(ctx.call_raw("B", ""));
                auto both = all{calls};
                auto waiting = await_it(both);
                waiting.start();
                auto pause = ctx.sleep(1s);
                co_await pause;
                calls.reserve(1000);
                co_await waiting;
                co_return "both";
            },
            timer_fires(4),
            completion(2, "a"),
            completion(3, "b"))
        .completes("both");
}

TEST(Tasks, MayMoveWhileTheyAreAwaited) {
    given(started(), timer(), timer(start_ms + 2000))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto task = sleep_then_one(ctx);
                auto waiting = await_it(task);
                waiting.start();
                co_await ctx.sleep(2s);
                auto moved = std::move(task);
                co_await waiting;
                co_return "one";
            },
            timer_fires(2),
            timer_fires(3))
        .completes("one");
}

TEST(Misuse, AskingWhetherWhatWasAwaitedIsReady) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto a = ctx.call_raw("A", "");
                co_await a;
                co_return a.ready() ? "ready" : "not ready";
            },
            completion(2, "x"))
        .fails("orchestration panicked: ready() is asked of an operation or task that was awaited "
               "before: its result is taken");
}

TEST(Misuse, ATaskThatAwaitsItself) {
    static std::optional<Task<std::string>> self;
    fresh([](Context, std::string) -> Task<std::string> {
        self = []() -> Task<std::string> {
            const std::string never = co_await *self;
            co_return never;
        }();
        const std::string never = co_await *self;
        co_return never;
    }).fails("orchestration panicked: this task awaits itself: it would wait for ever");
    self.reset();
}

// ---- Dropping what is awaited

TEST(Misuse, CancellingAnOperationThatAnotherTaskAwaitsIsReported) {
    given(started(), timer(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto pause = ctx.sleep(1s);
                auto a = ctx.call_raw("A", "");
                auto waiting = await_it(a);
                waiting.start();
                co_await pause;
                a.cancel();
                co_await waiting;
                co_return "not reached";
            },
            timer_fires(2))
        .is_nondeterministic(replay::NondeterminismKind::stuck,
                             {"E2006",
                              "an operation, made at misuse_test.cpp:",
                              "was cancelled or destroyed while a coroutine waited for it",
                              "Keep what another task waits for"});
}

TEST(Misuse, DroppingABorrowedOperandOfAGroup) {
    given(started(), timer(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto pause = ctx.sleep(1s);
                std::optional a = ctx.call_raw("A", "");
                auto both = all{*a, ctx.call_raw("B", "")};
                auto waiting = await_it(both);
                waiting.start();
                co_await pause;
                a.reset();
                co_await waiting;
                co_return "not reached";
            },
            timer_fires(2),
            completion(4, "b"))
        .is_nondeterministic(replay::NondeterminismKind::stuck, {"E2006", "waited for it"});
}

TEST(Misuse, DroppingAFinishedOperandBeforeTheGroupIsTaken) {
    given(started(), activity("A"), activity("B"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::optional a = ctx.call_raw("A", "");
                auto b = ctx.call_raw("B", "");
                auto both = all{*a, b};
                auto waiting = await_it(both);
                waiting.start();
                auto drop = [](auto& operation, auto& other) -> Task<void> {
                    co_await other;
                    operation.reset();
                };
                auto pause = ctx.sleep(1s);
                auto dropping = drop(a, pause);
                co_await dropping;
                co_await waiting;
                co_return "not reached";
            },
            completion(2, "a"),
            timer_fires(4),
            completion(3, "b"))
        .fails(empty);
}

// ---- Tasks that end themselves

Task<void> end_yourself(Context ctx, std::optional<Task<void>>& self, std::string& trace) {
    trace += "begun ";
    self.reset();
    trace += "still here ";
    co_await ctx.sleep(1s);
    trace += "never here ";
}

TEST(Tasks, ThatDestroyThemselvesRunUntilTheyNextWait) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::string trace;
        std::optional<Task<void>> task;
        task.emplace(end_yourself(ctx, task, trace));
        task->start();
        auto a = ctx.call_raw("A", "");
        co_await a;
        co_return trace;
    })
        .runs_on()
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 ActivityScheduled A()",
               "3 TimerCreated",
               "4 TimerCancelRequested <-3 dropped_future"});
}

Task<void> end_at_once(std::optional<Task<void>>& self) {
    self.reset();
    co_return;
}

TEST(Tasks, ThatDestroyThemselvesAndReturnAreGone) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::optional<Task<void>> task;
                task.emplace(end_at_once(task));
                task->start();
                auto a = ctx.call_raw("A", "");
                co_await a;
                co_return task ? "there" : "gone";
            },
            completion(2, ""))
        .completes("gone");
}

TEST(Misuse, AwaitingATaskThatDestroysItselfIsReported) {
    fresh([](Context, std::string) -> Task<std::string> {
        std::optional<Task<void>> task;
        task.emplace(end_at_once(task));
        co_await *task;
        co_return "not reached";
    }).is_nondeterministic(replay::NondeterminismKind::stuck, {"a task or a group was cancelled"});
}

struct Never : detail::DurableAwaitableBase, detail::Source {
    using Value = int;
    void start() noexcept {}
    [[nodiscard]] detail::Source* source() noexcept { return this; }
    int take() noexcept { return 0; }
    void cancel() noexcept {}
};

// What is dropped together with its waiter leaves no trace in the report.
TEST(Misuse, IsNotSeenInTasksAndRetriesThatWereDropped) {
    const auto turn = given(started(), timer(), activity("A"), timer())
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  auto pause = ctx.sleep(1s);
                                  auto task = sleep_then_one(ctx);
                                  std::optional retrying =
                                      ctx.call_raw("A", "", {.retry = {.max_attempts = 2}});
                                  task.start();
                                  co_await pause;
                                  retrying.reset();
                                  task.cancel();
                                  Never stuck;
                                  co_await stuck;
                                  co_return "not reached";
                              },
                              timer_fires(2));

    turn.is_nondeterministic(replay::NondeterminismKind::stuck, {"E2006"});
    EXPECT_EQ(turn.result().nondeterminism.value().difference,
              "the orchestration is unfinished but waits for no step");
}

Task<std::string> say(std::string text) {
    co_return text;
}

TEST(Misuse, ReturningATaskThatWasMovedAway) {
    fresh([](Context, std::string) -> Task<std::string> {
        auto task = say("x");
        const auto taken = std::move(task);
        return task; // NOLINT(bugprone-use-after-move): that is the mistake
    }).fails(empty);
}

// ---- The context elsewhere

std::optional<Context> kept;

TEST(Misuse, UsingTheContextAfterItsOrchestrationHasEnded) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        kept = ctx;
        co_return "done";
    }).completes("done");

    EXPECT_THROW(static_cast<void>(kept->now()), std::logic_error);
    EXPECT_THROW(static_cast<void>(kept->instance()), std::logic_error);
    EXPECT_THROW(static_cast<void>(kept->call_raw("A", "")), std::logic_error);
    EXPECT_THROW(kept->set_status("x"), std::logic_error);
    EXPECT_THROW(kept->kv().set("key", 1), std::logic_error);
    EXPECT_THROW(static_cast<void>(kept->kv().get("key")), std::logic_error);
    kept.reset();
}

TEST(Misuse, UsingTheContextOfAnotherOrchestration) {
    auto other = handler_of([](Context ctx, std::string) -> Task<std::string> {
        kept = ctx;
        co_return co_await ctx.call_raw("A", "");
    });
    const auto first = replay::Execution::create({.handler = std::move(other),
                                                  .instance = "first",
                                                  .execution_id = 1,
                                                  .kv = {},
                                                  .limits = {}});
    const std::vector messages{start_message()};
    static_cast<void>(first->run(messages, from_epoch_ms(start_ms)));

    fresh([](Context, std::string) -> Task<std::string> { co_return kept->new_uuid(); })
        .fails("orchestration panicked: a durable::Context is used outside of its orchestration: "
               "on another thread, or after the end");
    kept.reset();
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

} // namespace

} // namespace durable::replay_test::misuse_test
