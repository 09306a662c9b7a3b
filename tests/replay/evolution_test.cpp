// Types that change under running instances: what an older release recorded is compared as today's
// type would write it.

#include "replay/fixture.hpp"

#include <durable/contract.hpp>

#include <gtest/gtest.h>

namespace durable::replay_test::evolution_test {

namespace {

using enum replay::NondeterminismKind;

// Release 2: `note` is new. Release 1 had a `weight` that is gone.
struct Order {
    std::string id;
    int cents = 0;
    std::string note;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, cents, note)

constexpr auto before_note = R"({"cents":42,"id":"x"})";
constexpr auto with_weight = R"({"cents":42,"id":"x","note":"","weight":7})";
constexpr auto today = R"({"cents":42,"id":"x","note":""})";
constexpr auto another_price = R"({"cents":41,"id":"x"})";

// Without a default for members that are missing: release 1 wrote no `note`.
struct Strict {
    std::string id;
    std::string note;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Strict, id, note)

constexpr Activity<std::string(Order)> charge{"Charge"};
constexpr Activity<std::string(Strict)> check{"Check"};
constexpr Activity<std::string(Order)> refund{"Refund"};
constexpr Orchestration<std::string(Order)> ship{"Ship"};
constexpr Orchestration<std::string(Order)> self{"TestOrch"};
constexpr Orchestration<Order()> typed{"TestOrch"};

const Order an_order{.id = "x", .cents = 42};

Task<std::string> charges(Context ctx, std::string) {
    co_return co_await ctx.call(charge, an_order);
}

Task<std::string> ships(Context ctx, std::string) {
    co_return co_await ctx.call(ship, an_order, {.id = "child"});
}

Task<std::string> ships_beside(Context ctx, std::string) {
    static_cast<void>(ctx.start_detached(ship, an_order, {.id = "other"}));
    co_await ctx.sleep(1min);
    co_return "done";
}

Task<std::string> remembers(Context ctx, std::string) {
    ctx.kv().set("order", an_order);
    co_await ctx.sleep(1min);
    co_return ctx.kv().all().at("order");
}

Task<std::string> goes_on(Context ctx, std::string) {
    co_return co_await ctx.continue_as_new(self, an_order);
}

Task<std::string> retries(Context ctx, std::string) {
    co_return co_await ctx.call(
        charge, an_order, {.retry = {.max_attempts = 3, .backoff = Backoff::none}});
}

Task<std::string> undoes(Context ctx, std::string) {
    ctx.on_failure(refund, an_order);
    co_await ctx.call_raw("Pay", "");
    co_return "paid";
}

history::OrchestrationContinuedAsNew continued(std::string input) {
    return {.input = std::move(input)};
}

TEST(Evolution, AFieldWithADefaultMayBeAddedToTheInputOfAnActivity) {
    given(started(), activity("Charge", before_note))
        .when(charges, completion(2, "ok"))
        .completes("ok");
}

TEST(Evolution, AFieldMayBeRemovedFromTheInputOfAnActivity) {
    given(started(), activity("Charge", with_weight))
        .when(charges, completion(2, "ok"))
        .completes("ok");
}

TEST(Evolution, AnotherValueIsStillFoundAndShownWithoutTheFieldThatIsNew) {
    given(started(), activity("Charge", another_price))
        .when(charges)
        .is_nondeterministic(different, {"input:", R"("{"cents":41,"id":"x","note":""}")"});
}

TEST(Evolution, ATextThatDoesNotFitTodaysTypeIsShownAsItWasRecorded) {
    given(started(), activity("Charge", "no order"))
        .when(charges)
        .is_nondeterministic(different, {R"(input: "no order" / )"});
    given(started(), activity("Check", R"({"id":"x"})"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            const Strict strict{.id = "x"};
            co_return co_await ctx.call(check, strict);
        })
        .is_nondeterministic(different, {R"(input: "{"id":"x"}" / )"});
}

TEST(Evolution, WhatHasNoTypeIsComparedAsText) {
    given(started(), activity("Charge", before_note))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("Charge", today);
        })
        .is_nondeterministic(different, {"input:"});
}

TEST(Evolution, AnInputThatWasTakenAwayIsFound) {
    given(started(), activity("Charge", before_note))
        .when([](Context ctx, std::string) -> Task<std::string> {
            static constexpr Activity<std::string(Unit)> nothing{"Charge"};
            co_return co_await ctx.call(nothing, Unit{});
        })
        .is_nondeterministic(different, {"input:", "null"});
}

TEST(Evolution, TheInputOfAChildMayGrow) {
    given(started(), child("Ship", "child", before_note))
        .when(ships, child_answers(2, "shipped"))
        .completes("shipped");
    given(started(), child("Ship", "child", another_price))
        .when(ships)
        .is_nondeterministic(different, {"input:"});
}

TEST(Evolution, TheInputOfADetachedStartMayGrow) {
    given(started(),
          event(history::OrchestrationChained{
              .name = "Ship", .instance = "other", .input = before_note}),
          timer())
        .when(ships_beside, timer_fires(3))
        .completes("done");
}

TEST(Evolution, AValueInKvMayGrowAndTheRecordedTextCounts) {
    given(started(), kv_set("order", before_note), timer())
        .when(remembers, timer_fires(3))
        .completes(before_note);
    given(started(), kv_set("order", another_price), timer())
        .when(remembers)
        .is_nondeterministic(different, {"value:"});
}

TEST(Evolution, EveryAttemptOfACallIsComparedAsTodaysType) {
    given(started(),
          activity("Charge", before_note),
          failed(2, "no"),
          activity("Charge", before_note))
        .when(retries, failure(4, application("no")))
        .then(
            {"5 ActivityFailed <-4 no", std::string{"6 ActivityScheduled Charge("} + today + ")"});
}

TEST(Evolution, TheInputOfACompensationMayGrow) {
    given(started(), activity("Pay"), failed(2, "no funds"), activity("Refund", before_note))
        .when(undoes, completion(4, "ok"))
        .fails("no funds");
}

TEST(Evolution, AReplayOfWhatHasEndedAllowsItToo) {
    EXPECT_FALSE(given(started(), event(continued(before_note))).verify(goes_on));
    EXPECT_FALSE(given(started(), event(continued(with_weight))).verify(goes_on));
    EXPECT_TRUE(given(started(), event(continued(another_price))).verify(goes_on));
}

TEST(Evolution, TheResultOfAnOrchestrationMayGrow) {
    Registry registry;
    registry.add(typed, [](Context) -> Task<Order> { co_return an_order; });
    const auto replays = [&](std::string output) {
        const std::vector<HistoryEvent> history{
            at(1, started("null")),
            at(2, event(history::OrchestrationCompleted{.output = std::move(output)}))};
        const auto execution = replay::Execution::create(
            {.handler = registry.find_orchestration("TestOrch"), .instance = test_instance});
        return execution->replay(history, replay::ReplayMode::verify);
    };

    EXPECT_TRUE(replays(today));
    EXPECT_TRUE(replays(before_note));
    EXPECT_TRUE(replays(with_weight));
    EXPECT_FALSE(replays(another_price));
}

} // namespace

} // namespace durable::replay_test::evolution_test
