#include <durable/history_event.hpp>
#include <durable/work_item.hpp>

#include <gtest/gtest.h>

namespace durable {

namespace {

TEST(Names, AreThoseOfTheWireFormat) {
    EXPECT_EQ(type_name(history::Kind{history::QueueSubscribed{}}), "ExternalSubscribedPersistent");
    EXPECT_EQ(type_name(history::Kind{history::QueueEventDelivered{}}), "ExternalEventPersistent");
    EXPECT_EQ(type_name(history::Kind{history::QueueSubscriptionCancelled{}}),
              "ExternalSubscribedPersistentCancelled");
    EXPECT_EQ(type_name(history::Kind{history::TimerFired{}}), "TimerFired");
    EXPECT_EQ(type_name(WorkItem{work::SubOrchFailed{}}), "SubOrchFailed");
}

TEST(Names, AnAnswerOfAChildBelongsToTheParent) {
    EXPECT_EQ(target_instance(work::SubOrchCompleted{.parent_instance = "parent"}), "parent");
    EXPECT_EQ(target_instance(work::SubOrchFailed{.parent_instance = "parent"}), "parent");
    EXPECT_EQ(
        target_instance(work::StartOrchestration{.instance = "child", .parent_instance = "parent"}),
        "child");
    EXPECT_EQ(target_instance(work::ActivityExecute{.instance = "i"}), "i");
}

TEST(Names, ThreeKindsEndAnExecution) {
    EXPECT_TRUE(is_terminal(history::OrchestrationCompleted{}));
    EXPECT_TRUE(is_terminal(history::OrchestrationFailed{}));
    EXPECT_TRUE(is_terminal(history::OrchestrationContinuedAsNew{}));
    EXPECT_FALSE(is_terminal(history::OrchestrationStarted{}));
    EXPECT_FALSE(is_terminal(history::OrchestrationCancelRequested{}));
}

} // namespace

} // namespace durable
