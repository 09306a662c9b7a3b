// The order in which the operands of a combinator are made: inside of braces it is the order of
// writing, inside of parentheses it is the compiler's choice.

#include "replay/fixture.hpp"

#include <durable/combine.hpp>

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace durable::replay_test::operand_order_test {

namespace {

// Operands that were evaluated from right to left: what parentheses may do, done by hand here.
TEST(OperandOrder, AnotherOneThanWrittenIsFound) {
    fresh([](Context, std::string) -> Task<std::string> {
        auto& engine = detail::RunQueue::current()->engine();
        auto* const second = engine.schedule({.kind = detail::StepKind::activity, .name = "B"});
        auto* const first = engine.schedule({.kind = detail::StepKind::activity, .name = "A"});
        auto both = all{Operation<std::string>{first}, Operation<std::string>{second}};
        auto [a, b] = co_await both;
        co_return a + b;
    })
        .is_nondeterministic(replay::NondeterminismKind::order,
                             {"E2007", "Write combinators with braces"});
}

TEST(OperandOrder, AnotherOneThanWrittenIsFoundBehindAsResult) {
    fresh([](Context, std::string) -> Task<std::string> {
        auto& engine = detail::RunQueue::current()->engine();
        auto* const second = engine.schedule({.kind = detail::StepKind::activity, .name = "B"});
        auto* const first = engine.schedule({.kind = detail::StepKind::activity, .name = "A"});
        auto both = all{Operation<std::string>{first}.as_result(),
                        Operation<std::string>{second}.as_result()};
        auto [a, b] = co_await both;
        co_return a.value() + b.value();
    }).is_nondeterministic(replay::NondeterminismKind::order, {"E2007"});
}

TEST(OperandOrder, IsFreeForOperandsThatWereNamedBefore) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto deadline = ctx.sleep(1s);
        auto first = co_await race{ctx.call_raw("A", ""), std::move(deadline)};
        co_return std::to_string(first.index());
    }).runs_on();
}

// Each round waits for its own load and for the save of the round before, which stands below it.
Task<std::string> pipeline(Context ctx, std::string) {
    std::string saved;
    std::optional<Operation<std::string>> saving;
    for (int round = 0; round < 2; ++round) {
        auto loading = ctx.call_raw("Load", std::to_string(round));
        if (saving) {
            auto both = all{std::move(loading), std::move(*saving)};
            const auto [loaded, done] = co_await both;
            saved += done;
        } else {
            co_await loading;
        }
        saving = ctx.call_raw("Save", std::to_string(round));
    }
    co_return saved + co_await *saving;
}

TEST(OperandOrder, IsFreeForOneOfAnEarlierRound) {
    given(started(), activity("Load", "0"))
        .when(
            pipeline, completion(2, ""), completion(4, "a"), completion(5, ""), completion(8, "b"))
        .completes("ab");
}

TEST(OperandOrder, IsFreeForOneOfAnEarlierRoundBehindAsResult) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::optional<Operation<std::string>> saving;
        for (int round = 0; round < 2; ++round) {
            auto loading = ctx.call_raw("Load", "");
            if (saving) {
                auto both = all{std::move(loading).as_result(), std::move(*saving).as_result()};
                co_await both;
            }
            saving = ctx.call_raw("Save", "");
        }
        co_return "done";
    }).runs_on();
}

TEST(OperandOrder, IsNotBlamedForAnOperandThatWasRefused) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto both = all{ctx.call_raw("A", ""), ctx.call_raw("B", "\xff")};
        auto [a, b] = co_await both;
        co_return a + b;
    }).fails("'B': input and options must be UTF-8 text");
}

} // namespace

} // namespace durable::replay_test::operand_order_test
