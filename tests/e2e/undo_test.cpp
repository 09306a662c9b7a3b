// Undos on a real node: an order that is cancelled, dropped or failed while its charge is under
// way.

#include "e2e/e2e.hpp"

namespace durable::e2e::undo_test {
namespace {

DURABLE_E2E_SUITE(Undoing);

using Text = std::string;

constexpr Activity<Text(Text)> charge{"Charge"};
constexpr Activity<void(Undo<Text, Text>)> refund{"Refund"};
constexpr Activity<Text(Text)> ship{"Ship"};
constexpr Activity<int()> tick{"Tick"};
constexpr Activity<void(Undo<void, int>)> tock{"Tock"};
constexpr Orchestration<Text(Text)> order{"Order"};

Task<Text> handle_order(Context ctx, Text item) {
    const auto receipt = co_await ctx.call(charge, item, undo_with(refund));
    co_return co_await ctx.call(ship, receipt);
}

Text words(const Undo<Text, Text>& undo) {
    const auto* const outcome = undo.outcome == CallOutcome::succeeded ? "succeeded"
                                : undo.outcome == CallOutcome::failed  ? "failed"
                                                                       : "unknown";
    return undo.input + ", " + outcome + ", " + undo.result.value_or("none") + ", " +
           undo.idempotency_key;
}

// U4
TEST_P(Undoing, ACancellationWhileAChargeRunsWaitsForItAndRefundsIt) {
    Text key;
    std::vector<Text> refunded;
    registry.add(charge, [&](ActivityContext& ctx, const Text& item) {
        key = ctx.idempotency_key();
        EXPECT_TRUE(client.cancel("o-1", "customer called"));
        EXPECT_TRUE(ctx.sleep(10s))
            << "the cancellation is handled meanwhile, and does not stop it";
        return "r-" + item;
    });
    registry.add(refund, [&](const Undo<Text, Text>& undo) { refunded.push_back(words(undo)); });
    registry.add(ship, [](const Text& item) {
        ADD_FAILURE() << "nothing is shipped after the cancellation";
        return item;
    });
    registry.add(order, handle_order);

    start(order, "vase", {.id = "o-1"});

    EXPECT_EQ(failure("o-1"), "canceled: customer called");
    EXPECT_EQ(refunded, std::vector{"vase, succeeded, r-vase, " + key});
}

// Nothing is left but the store, at each place in turn.
TEST_P(Undoing, ARefundIsMadeAfterACrashAnywhere) {
    std::vector<Text> refunded;
    registry.add(charge, [&](const Text& item) { return "r-" + item; });
    registry.add(refund, [&](const Undo<Text, Text>& undo) { refunded.push_back(words(undo)); });
    registry.add(ship, [](const Text& item) { return item; });
    registry.add(order, handle_order);
    for (int steps = 0; steps < 6; ++steps) {
        const auto id = "o-" + std::to_string(steps);
        refunded.clear();
        start(order, "vase", {.id = id});
        // The charge is scheduled; the cancellation comes before its end.
        ASSERT_TRUE(runtime().run_turn());
        ASSERT_TRUE(client.cancel(id, "stop"));
        for (int step = 0; step < steps; ++step) {
            static_cast<void>(step % 2 == 0 ? runtime().run_turn() : runtime().run_activity());
        }
        crash();

        EXPECT_EQ(failure(id), "canceled: stop") << steps;
        EXPECT_EQ(refunded, std::vector{"vase, succeeded, r-vase, " + id + "/1/2"}) << steps;
    }
}

TEST_P(Undoing, AChargeThatComesAfterItsDeadlineIsRefundedBeforeTheEnd) {
    std::vector<Text> refunded;
    registry.add(charge, [](ActivityContext& ctx, const Text& item) {
        EXPECT_TRUE(ctx.sleep(2min));
        return "r-" + item;
    });
    registry.add(refund, [&](const Undo<Text, Text>& undo) { refunded.push_back(words(undo)); });
    registry.add(order, [](Context ctx, Text item) -> Task<Text> {
        auto call = ctx.call(charge, item, undo_with(refund));
        const auto receipt = co_await ctx.within(1min, std::move(call));
        co_return receipt ? *receipt : "too late";
    });

    start(order, "vase", {.id = "o-1"});

    EXPECT_EQ(output("o-1"), "too late");
    EXPECT_EQ(refunded, std::vector<Text>{"vase, succeeded, r-vase, o-1/1/2"});
}

TEST_P(Undoing, OfCallsWithoutInputWorksLikewise) {
    int undone = 0;
    registry.add(tick, [] { return 7; });
    registry.add(tock, [&](const Undo<void, int>& undo) { undone = undo.result.value_or(0); });
    registry.add(order, [](Context ctx, Text) -> Task<Text> {
        const auto ticked = co_await ctx.call(tick, undo_with(tock));
        throw OperationFailed{{.message = "after " + std::to_string(ticked)}};
    });

    start(order, "", {.id = "o-1"});

    EXPECT_EQ(failure("o-1"), "after 7");
    EXPECT_EQ(undone, 7);
}

} // namespace
} // namespace durable::e2e::undo_test
