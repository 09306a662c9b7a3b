// Instances that end without their code: cancelled while no node has the code, given up, or
// different from their history. The recorded end is the requested one, and the log says which
// compensations did not run.

#include "e2e/e2e.hpp"

namespace durable::e2e::without_code_test {
namespace {

using Text = std::string;

constexpr Activity<Text(Text)> charge{"Charge"};
constexpr Activity<Text(Text)> other_charge{"OtherCharge"};
constexpr Activity<void(Text)> refund{"Refund"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> parent{"Parent"};
constexpr Event<Text> go{"Go"};

constexpr std::string_view no_compensations =
    "ended without its code: compensations that it had registered did not run";

Task<Text> pay_then_wait(Context ctx, Text input) {
    co_await ctx.call(charge, input);
    ctx.on_failure(refund, input);
    co_return co_await ctx.wait_for(go);
}

Task<Text> pay_otherwise(Context ctx, Text input) {
    co_await ctx.call(other_charge, input);
    ctx.on_failure(refund, input);
    co_return co_await ctx.wait_for(go);
}

Task<Text> ask_root(Context ctx, Text input) {
    const auto answer = co_await ctx.call(root, input, {.id = "a"}).as_result();
    co_return answer ? *answer : answer.error().kind + ": " + answer.error().message;
}

class WithoutCode : public E2e {
 protected:
    [[nodiscard]] Registry activities() {
        Registry made;
        made.add(charge, [](const Text& input) { return input; });
        made.add(other_charge, [](const Text& input) { return input; });
        made.add(refund, [this](const Text& input) { refunded.push_back(input); });
        return made;
    }
    // Charged, and waiting for the event; then the process is another one.
    void charge_then_deploy(Registry next) {
        registry = activities();
        registry.add(root, pay_then_wait);
        start(root, "5 EUR", {.id = "a"});
        settle();
        crash();
        registry = std::move(next);
    }
    [[nodiscard]] std::vector<RecordingLogger::Line> warnings() const {
        return log->with(no_compensations);
    }

    std::vector<Text> refunded;
};

INSTANTIATE_TEST_SUITE_P(,
                         WithoutCode,
                         ::testing::Values(Frames::kept, Frames::evicted),
                         frames_name);

// ---- No node has the code

TEST_P(WithoutCode, AnInstanceThatNobodyHasRegisteredEndsAsItWasToldTo) {
    charge_then_deploy(activities());
    raise("a", go, "");
    runtime().advance(24h);
    EXPECT_EQ(status("a"), RunStatus::running);
    ASSERT_TRUE(client.cancel("a", "the code is gone"));

    const auto ended = finish("a");

    EXPECT_EQ(failure_of(ended), "canceled: the code is gone");
    EXPECT_EQ(kind_of(ended.failure.value()), failure_kind::cancelled);
    EXPECT_TRUE(runtime().parked().empty());
    EXPECT_EQ(metric("durable_orchestration_poison_total"), 0);
}

TEST_P(WithoutCode, ACancellationWaitsAWhileForANodeWithTheCode) {
    charge_then_deploy(activities());
    const auto begun = clock->now();
    ASSERT_TRUE(client.cancel("a", "the code is gone"));

    EXPECT_EQ(failure("a"), "canceled: the code is gone");
    EXPECT_EQ(clock->now() - begun, 30s);
}

TEST_P(WithoutCode, HowLongACancellationWaitsIsAnOption) {
    options.cancel_without_code_after = 2h;
    charge_then_deploy(activities());
    ASSERT_TRUE(runtime().client().cancel("a", "the code is gone"));
    runtime().advance(2h - 1ms);
    EXPECT_EQ(status("a"), RunStatus::running);

    runtime().advance(1ms);

    EXPECT_EQ(failure_of(client.status("a").value()), "canceled: the code is gone");
}

// The cancellation that frees it says nothing to it.
TEST_P(WithoutCode, ACancellationOfAFormerInstanceEndsNothing) {
    charge_then_deploy(activities());
    const auto incarnation = store->watch_instance({.instance = "a"}).value().incarnation;
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::CancelInstance{.instance = "a", .reason = "late", .incarnation = incarnation + 1},
        std::nullopt));

    runtime().advance(1h);

    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(metric("durable_orchestration_poison_total"), 0);
}

TEST_P(WithoutCode, ARuntimeWithTheCodeCancelsWithItsCompensations) {
    charge_then_deploy(activities());
    ASSERT_TRUE(client.cancel("a", "changed my mind"));
    runtime().advance(29s); // this one has no code, and leaves it to others
    EXPECT_EQ(status("a"), RunStatus::running);
    Registry complete = activities();
    complete.add(root, pay_then_wait);
    RuntimeOptions other_options;
    other_options.logger = log;
    TestRuntime elsewhere{complete, {.runtime = other_options, .clock = clock, .provider = store}};

    const auto ended = elsewhere.finish("a").value();

    EXPECT_EQ(failure_of(ended), "canceled: changed my mind");
    EXPECT_EQ(refunded, std::vector<Text>{"5 EUR"});
    EXPECT_TRUE(warnings().empty());
}

TEST_P(WithoutCode, AnInstanceThatNeverBeganEndsAsItWasToldTo) {
    registry = activities();
    start(root, "", {.id = "a"});
    ASSERT_TRUE(client.cancel("a", "never mind"));

    EXPECT_EQ(failure("a"), "canceled: never mind");
    EXPECT_TRUE(warnings().empty()) << "no code has run";
}

TEST_P(WithoutCode, AParentIsToldOfTheCancellation) {
    registry = activities();
    registry.add(parent, ask_root);
    start(parent, "", {.id = "p"});
    settle();
    ASSERT_TRUE(client.cancel("a", "the code is gone"));

    EXPECT_EQ(output("p"), "Cancelled: canceled: the code is gone");
}

// ---- What is said of compensations

TEST_P(WithoutCode, ACancellationWithoutCodeSaysThatNothingWasUndone) {
    charge_then_deploy(activities());
    ASSERT_TRUE(client.cancel("a", "the code is gone"));
    finish("a");

    EXPECT_TRUE(refunded.empty());
    ASSERT_EQ(warnings().size(), 1u);
    const auto warning = warnings().front();
    EXPECT_EQ(warning.level, LogLevel::warn);
    EXPECT_EQ(warning.instance, "a");
    EXPECT_EQ(warning.fields, "kind=Cancelled error=canceled: the code is gone");
}

TEST_P(WithoutCode, ACancelledInstanceWhoseCodeDiffersSaysIt) {
    auto next = activities();
    next.add(root, pay_otherwise);
    charge_then_deploy(std::move(next));
    raise("a", go, "");
    settle();
    ASSERT_EQ(runtime().parked().size(), 1u);
    EXPECT_TRUE(warnings().empty());
    ASSERT_TRUE(client.cancel("a", "operator"));

    EXPECT_EQ(failure("a"), "canceled: operator");
    EXPECT_TRUE(refunded.empty());
    ASSERT_EQ(warnings().size(), 1u);
    EXPECT_EQ(warnings().front().fields, "kind=Cancelled error=canceled: operator");
}

TEST_P(WithoutCode, ThePolicyFailSaysIt) {
    auto next = activities();
    next.add(root, pay_otherwise);
    charge_then_deploy(std::move(next));
    options.nondeterminism = NondeterminismPolicy::fail;
    raise("a", go, "");

    EXPECT_TRUE(failure("a").starts_with("nondeterministic: "));
    EXPECT_TRUE(refunded.empty());
    ASSERT_EQ(warnings().size(), 1u);
    EXPECT_TRUE(
        warnings().front().fields.starts_with("kind=Configuration error=nondeterministic: "))
        << warnings().front().fields;
}

TEST_P(WithoutCode, PoisonSaysIt) {
    auto next = activities();
    next.add(root, pay_then_wait);
    charge_then_deploy(std::move(next));
    store->more_turn_attempts = 10;
    raise("a", go, "");

    EXPECT_TRUE(failure("a").starts_with("poison: "));
    EXPECT_TRUE(refunded.empty());
    ASSERT_EQ(warnings().size(), 1u);
    EXPECT_TRUE(warnings().front().fields.starts_with("kind=Poison "));
}

TEST_P(WithoutCode, AHistoryThatCannotBeReadSaysIt) {
    charge_then_deploy(activities());
    registry.add(root, pay_then_wait);
    store->unreadable_history = true;
    raise("a", go, "");
    runtime().advance(1min);

    EXPECT_EQ(client.status("a").value().status, RunStatus::failed);
    ASSERT_EQ(warnings().size(), 1u);
    EXPECT_EQ(warnings().front().instance, "a");
}

} // namespace
} // namespace durable::e2e::without_code_test
