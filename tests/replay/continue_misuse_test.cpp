// continue_as_new ends the execution where it is awaited. Code that requests it and then does
// something else fails with a message: nothing is continued, or lost, in silence.

#include "replay/fixture.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace durable::replay_test::continue_misuse_test {

namespace {

constexpr auto dropped = "was dropped and not awaited: write co_return co_await "
                         "ctx.continue_as_new(...)";

std::string at(int line) {
    return "continue_as_new, called at continue_misuse_test.cpp:" + std::to_string(line) + ", ";
}

TEST(ContinueAsNew, TakesEffectWhereItIsAwaited) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto next = ctx.continue_as_new_raw("next");
                auto call = ctx.call_raw("A", "");
                const auto answer = co_await call;
                ctx.kv().set("answer", answer);
                co_return co_await next;
            },
            completion(2, "yes"))
        .continues_as_new("next")
        .then({"3 ActivityCompleted <-2 yes",
               "4 KeyValueSet answer=yes",
               "5 OrchestrationContinuedAsNew next"});
}

TEST(ContinueAsNew, NothingAfterTheAwaitRuns) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto next = ctx.continue_as_new_raw("next");
        co_await next;
        ctx.set_status("after");
        co_return "after";
    })
        .continues_as_new("next")
        .then(
            {"1 OrchestrationStarted TestOrch(test-input)", "2 OrchestrationContinuedAsNew next"});
}

constexpr int dropped_line = __LINE__ + 2;
Task<std::string> drop_and_go_on(Context ctx, std::string) {
    static_cast<void>(ctx.continue_as_new_raw("next"));
    ctx.set_status("after");
    auto call = ctx.call_raw("A", "");
    co_return co_await call;
}

TEST(ContinueAsNew, DroppedItFailsThereAndNothingAfterItIsRecorded) {
    fresh(drop_and_go_on)
        .fails(at(dropped_line) + dropped)
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 OrchestrationFailed " + at(dropped_line) + dropped});
}

constexpr int ignored_line = __LINE__ + 2;
Task<std::string> return_something_else(Context ctx, std::string) {
    const auto ignored = ctx.continue_as_new_raw("next");
    co_return "a result that does not count";
}

TEST(ContinueAsNew, AnotherResultIsAFailure) {
    fresh(return_something_else).fails(at(ignored_line) + dropped);
}

constexpr int kept_line = __LINE__ + 3;
Task<std::string> return_and_keep_it(Context ctx, std::string) {
    static std::unique_ptr<Operation<std::string>> kept;
    kept = std::make_unique<Operation<std::string>>(ctx.continue_as_new_raw("next"));
    co_return "a result that does not count";
}

TEST(ContinueAsNew, AnotherResultIsAFailureAlsoIfTheRequestIsKeptElsewhere) {
    fresh(return_and_keep_it)
        .fails(at(kept_line) + "was not awaited before the orchestration ended");
}

constexpr int first_line = __LINE__ + 2;
Task<std::string> ask_twice(Context ctx, std::string) {
    auto first = ctx.continue_as_new_raw("first");
    auto second = ctx.continue_as_new_raw("second");
    co_return co_await second;
}

TEST(ContinueAsNew, ASecondRequestIsAFailure) {
    fresh(ask_twice).fails(at(first_line) + "was called again at continue_misuse_test.cpp:" +
                           std::to_string(first_line + 1));
}

TEST(ContinueAsNew, AnExceptionAfterItFailsTheOrchestrationAsItIs) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto next = ctx.continue_as_new_raw("next");
        throw std::runtime_error{"bug"};
        co_return "";
    }).fails("orchestration panicked: bug");
}

TEST(ContinueAsNew, ACancellationForgetsTheRequest) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto next = ctx.continue_as_new_raw("next");
                auto call = ctx.call_raw("A", "");
                co_await call;
                co_return co_await next;
            },
            cancel("stop"))
        .is_cancelled("stop");
}

TEST(ContinueAsNew, ADestructorInTheFramesCannotAskForIt) {
    struct Asks {
        Context ctx;
        ~Asks() { static_cast<void>(ctx.continue_as_new_raw("next")); }
    };
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const Asks asks{ctx};
                auto call = ctx.call_raw("A", "");
                co_return co_await call;
            },
            cancel("stop"))
        .is_cancelled("stop");
}

TEST(ContinueAsNew, ATaskOfAGroupMayContinue) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto go_on = [](Context c) -> Task<std::string> {
            auto next = c.continue_as_new_raw("next");
            co_return co_await next;
        };
        const auto work = [](Context c) -> Task<std::string> {
            auto call = c.call_raw("A", "");
            co_return co_await call;
        };
        auto both = all{go_on(ctx), work(ctx)};
        auto [next, answer] = co_await both;
        co_return next + answer;
    })
        .continues_as_new("next")
        .cancels_activities({2});
}

} // namespace

} // namespace durable::replay_test::continue_misuse_test
