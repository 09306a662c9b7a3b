// Messages that have the right id and mean another instance: a stranger that took the id, or one
// that had it before.

#include "replay/end_execution.hpp"
#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::lives_test {
namespace {

Task<std::string> one_child(Context ctx, std::string) {
    co_return co_await ctx.call_child_raw("C", "");
}

Task<std::string> one_timer(Context ctx, std::string) {
    co_await ctx.sleep(60s);
    co_return "slept";
}

Task<std::string> a_dropped_child(Context ctx, std::string) {
    {
        auto call = ctx.call_child_raw("C", "", {.id = "taken"});
    }
    co_await ctx.sleep(60s);
    co_return "slept";
}

struct Link {
    std::string parent = "parent";
    std::uint64_t execution = 2;
    std::uint64_t step = 7;
    std::optional<std::uint64_t> incarnation = 11;
};

HistoryEvent started_by(const Link& link) {
    return event(history::OrchestrationStarted{.name = "TestOrch",
                                               .version = "1.0.0",
                                               .input = "test-input",
                                               .parent_instance = link.parent,
                                               .parent_id = link.step,
                                               .parent_execution_id = link.execution,
                                               .parent_incarnation = link.incarnation});
}

WorkItem cancelled_by(const Link& link) {
    return work::CancelInstance{.instance = test_instance,
                                .reason = "parent ended",
                                .parent_instance = link.parent,
                                .parent_execution_id = link.execution,
                                .parent_id = link.step,
                                .parent_incarnation = link.incarnation};
}

template <class Message>
const Message& sent(const Then& then, std::size_t index) {
    return std::get<Message>(then.result().commit.orchestrator_items.at(index));
}

TEST(Lives, ACancellationByTheOwnParentEndsTheChild) {
    given(started_by({}), timer()).when(one_timer, cancelled_by({})).is_cancelled("parent ended");
}

TEST(Lives, ACancellationByAnotherCallIsIgnored) {
    for (const Link& other : {Link{.parent = "stranger"},
                              Link{.execution = 1},
                              Link{.step = 8},
                              Link{.incarnation = 12}}) {
        given(started_by({}), timer()).when(one_timer, cancelled_by(other)).runs_on().ignores(1);
    }
    given(started(), timer()).when(one_timer, cancelled_by({})).runs_on().ignores(1);
}

TEST(Lives, WithoutAnIncarnationTheCallDecides) {
    given(started_by({.incarnation = std::nullopt}), timer())
        .when(one_timer, cancelled_by({}))
        .is_cancelled("parent ended");
    given(started_by({}), timer())
        .when(one_timer, cancelled_by({.incarnation = std::nullopt}))
        .is_cancelled("parent ended");
}

TEST(Lives, AStrangersCancellationThatComesWithTheStartIsIgnored) {
    fresh(one_timer, cancelled_by({})).runs_on().ignores(1);
}

TEST(Lives, AStrangersCancellationDoesNotHideTheOneBehindIt) {
    given(started(), timer())
        .when(one_timer, cancelled_by({}), cancel("enough"))
        .is_cancelled("enough");
}

TEST(Lives, AClientsCancellationOfAnotherLifeIsIgnored) {
    const auto late = [](std::uint64_t incarnation) {
        return work::CancelInstance{
            .instance = test_instance, .reason = "late", .incarnation = incarnation};
    };
    given(started(), timer())
        .as_incarnation(5)
        .when(one_timer, WorkItem{late(4)})
        .runs_on()
        .ignores(1);
    given(started(), timer())
        .as_incarnation(5)
        .when(one_timer, WorkItem{late(5)})
        .is_cancelled("late");
}

TEST(Lives, AnAnswerToAnotherLifeIsIgnored) {
    const auto answer = [](std::uint64_t incarnation) {
        return work::SubOrchCompleted{.parent_instance = test_instance,
                                      .parent_execution_id = 1,
                                      .parent_id = 2,
                                      .result = "x",
                                      .parent_incarnation = incarnation};
    };
    given(started(), child("C", "sub::1_2"))
        .as_incarnation(5)
        .when(one_child, WorkItem{answer(4)})
        .runs_on()
        .ignores(1);
    given(started(), child("C", "sub::1_2"))
        .as_incarnation(5)
        .when(one_child, WorkItem{answer(5)})
        .completes("x");
}

// An older version wrote it, so that nothing tells the lives apart. It says nothing about the code.
TEST(Lives, AChildsAnswerToAStepOfAnotherKindOrToNoneIsIgnored) {
    given(started(), timer()).when(one_timer, child_answers(2, "x")).runs_on().ignores(1);
    given(started(), timer()).when(one_timer, child_answers(99, "x")).runs_on().ignores(1);
    given(started(), timer())
        .when(one_timer, child_fails(2, application("x")))
        .runs_on()
        .ignores(1);
}

TEST(Lives, WhatAParentSendsNamesItsCallAndItsLife) {
    const auto turn = Given{{}}.as_incarnation(5).run(a_dropped_child, {start_message()});

    const auto& start = sent<work::StartOrchestration>(turn, 0);
    EXPECT_EQ(start.parent_instance, test_instance);
    EXPECT_EQ(start.parent_incarnation, 5u);
    const auto& stop = sent<work::CancelInstance>(turn, 1);
    EXPECT_EQ(stop.instance, "taken");
    EXPECT_EQ(stop.parent_instance, test_instance);
    EXPECT_EQ(stop.parent_execution_id, 1u);
    EXPECT_EQ(stop.parent_id, start.parent_id);
    EXPECT_EQ(stop.parent_incarnation, 5u);
}

TEST(Lives, AChildAnswersTheLifeThatCalledIt) {
    const auto completed = given(started_by({}), timer()).when(one_timer, timer_fires(2));
    const auto cancelled = given(started_by({}), timer()).when(one_timer, cancel("enough"));

    EXPECT_EQ(sent<work::SubOrchCompleted>(completed, 0).parent_incarnation, 11u);
    EXPECT_EQ(sent<work::SubOrchFailed>(cancelled, 0).parent_incarnation, 11u);
}

TEST(Lives, ContinuingAsNewKeepsTheLink) {
    const auto turn = given(started_by({}), timer())
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  co_await ctx.sleep(60s);
                                  co_return co_await ctx.continue_as_new_raw("next");
                              },
                              timer_fires(2));

    const auto& next = sent<work::ContinueAsNew>(turn, 0);
    EXPECT_EQ(next.parent_incarnation, 11u);
    EXPECT_EQ(replay::started_event(next, "1.0.0").parent_incarnation, 11u);
}

TEST(Lives, AnEndWithoutCodeNamesTheCallsToo) {
    const std::vector history{at(1, started_by({})), at(2, child("C", "taken"))};

    const auto result = replay::fail_execution({.instance = test_instance,
                                                .execution_id = 3,
                                                .incarnation = 5,
                                                .history = history,
                                                .details = application("x"),
                                                .now = from_epoch_ms(start_ms)});

    const auto& items = result.commit.orchestrator_items;
    const auto& stop = std::get<work::CancelInstance>(items.at(0));
    EXPECT_EQ(stop.parent_instance, test_instance);
    EXPECT_EQ(stop.parent_execution_id, 3u);
    EXPECT_EQ(stop.parent_id, 2u);
    EXPECT_EQ(stop.parent_incarnation, 5u);
    EXPECT_EQ(std::get<work::SubOrchFailed>(items.at(1)).parent_incarnation, 11u);
}

TEST(Lives, ASecondStartByAnotherLifeOfTheSameParentIsAnswered) {
    const replay::ParentLink existing{
        .instance = "parent", .id = 7, .execution_id = 2, .incarnation = 11};
    work::StartOrchestration start{.instance = "taken",
                                   .parent_instance = "parent",
                                   .parent_id = 7,
                                   .parent_execution_id = 2,
                                   .parent_incarnation = 11};
    EXPECT_FALSE(replay::answer_to_second_start(start, &existing)); // the same message again

    start.parent_incarnation = 12;
    const auto answer = replay::answer_to_second_start(start, &existing);

    ASSERT_TRUE(answer);
    EXPECT_EQ(std::get<work::SubOrchFailed>(*answer).parent_incarnation, 12u);
}

} // namespace
} // namespace durable::replay_test::lives_test
