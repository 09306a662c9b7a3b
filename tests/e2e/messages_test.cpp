// Events and mailboxes: who gets which message, and what is kept.

#include "e2e/e2e.hpp"

namespace durable::e2e::messages_test {
namespace {

DURABLE_E2E_SUITE(Messages);

using Text = std::string;

struct Order {
    Text item;
    int amount = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, item, amount)

constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Event<Text> first{"First"};
constexpr Event<Text> second{"Second"};
constexpr Event<Order> ordered{"Ordered"};
constexpr Queue<Text> inbox{"Inbox"};
constexpr Queue<Text> other_inbox{"OtherInbox"};
constexpr Queue<Order> orders{"Orders"};

TEST_P(Messages, AnEventReachesWhoWaitsForIt) {
    registry.add(root,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(first); });
    start(root, "", {.id = "a"});
    settle();

    raise("a", first, "hello");

    EXPECT_EQ(output("a"), "hello");
    EXPECT_EQ(history("a").size(), 4u); // started, subscribed, event, completed
}

TEST_P(Messages, EventsPairWithWaitsInOrder) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto one = ctx.wait_for(first);
        auto two = ctx.wait_for(first);
        const Text a = co_await one;
        const Text b = co_await two;
        co_return a + "," + b;
    });
    start(root, "", {.id = "a"});
    settle();

    raise("a", first, "1");
    raise("a", first, "2");

    EXPECT_EQ(output("a"), "1,2");
}

TEST_P(Messages, EqualEventsAreTwoEvents) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text a = co_await ctx.wait_for(first);
        const Text b = co_await ctx.wait_for(first);
        co_return a + b;
    });
    start(root, "", {.id = "a"});
    settle();

    raise("a", first, "x");
    settle();
    raise("a", first, "x");

    EXPECT_EQ(output("a"), "xx");
}

TEST_P(Messages, OfTwoEventsInOneBatchTheFirstSentWinsTheRace) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto winner = co_await race{ctx.wait_for(first), ctx.wait_for(second)};
        co_return winner.index() == 0 ? "first" : "second";
    });
    start(root, "", {.id = "a"});
    settle();

    raise("a", second, "");
    raise("a", first, "");

    EXPECT_EQ(output("a"), "second");
}

TEST_P(Messages, AnEventRaisedAfterTheEndIsIgnored) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    start(root, "", {.id = "a"});
    EXPECT_EQ(output("a"), "done");
    const auto before = history("a");

    raise("a", first, "late");
    settle();

    EXPECT_EQ(history("a"), before);
    EXPECT_EQ(metric("durable_orchestration_dropped_messages_total", {"reason=instance_ended"}), 1);
}

TEST_P(Messages, TypedEventsArriveAsTheyWereSent) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Order order = co_await ctx.wait_for(ordered);
        co_return order.item + " x " + std::to_string(order.amount);
    });
    start(root, "", {.id = "a"});
    settle();

    raise("a", ordered, {.item = "tea", .amount = 3});

    EXPECT_EQ(output("a"), "tea x 3");
}

TEST_P(Messages, AnEventOfAnotherTypeIsAFailureThatSaysSo) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Order order = co_await ctx.wait_for(ordered);
        co_return order.item;
    });
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.raise("a", "Ordered", "not json"));

    EXPECT_NE(failure("a").find("cannot read the payload"), Text::npos);
}

TEST_P(Messages, AMailboxIsFirstInFirstOut) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        Text all;
        for (int i = 0; i < 3; ++i) {
            const Text next = co_await ctx.dequeue(inbox);
            all += next;
        }
        co_return all;
    });
    start(root, "", {.id = "a"});
    enqueue("a", inbox, "1");
    enqueue("a", inbox, "2");
    settle();
    enqueue("a", inbox, "3");

    EXPECT_EQ(output("a"), "123");
}

TEST_P(Messages, MailboxesAndEventsOfOneNameAreIndependent) {
    constexpr Event<Text> same_event{"Same"};
    constexpr Queue<Text> same_queue{"Same"};
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text event = co_await ctx.wait_for(Event<Text>{"Same"});
        const Text message = co_await ctx.dequeue(Queue<Text>{"Same"});
        co_return event + "," + message;
    });
    start(root, "", {.id = "a"});
    settle();

    enqueue("a", same_queue, "message");
    raise("a", same_event, "event");

    EXPECT_EQ(output("a"), "event,message");
}

TEST_P(Messages, MailboxesAreIndependentOfEachOther) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text b = co_await ctx.dequeue(other_inbox);
        const Text a = co_await ctx.dequeue(inbox);
        co_return b + a;
    });
    start(root, "", {.id = "a"});
    enqueue("a", inbox, "a");
    enqueue("a", other_inbox, "b");

    EXPECT_EQ(output("a"), "ba");
}

TEST_P(Messages, T02_AMessageSurvivesAReaderThatGaveUpInTheSameTurn) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto early = co_await ctx.within(1s, ctx.dequeue(inbox));
        const Text message = co_await ctx.dequeue(inbox);
        co_return (early ? "early " : "late ") + message;
    });
    start(root, "", {.id = "a"});
    settle();
    clock->advance(1s); // the timer fires, and the message comes, before the next turn
    enqueue("a", inbox, "m");

    EXPECT_EQ(output("a"), "late m");
}

TEST_P(Messages, T03_AnEventIsNotGivenToAWaitThatWasDropped) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto early = co_await ctx.within(1s, ctx.wait_for(first));
        const Text event = co_await ctx.wait_for(first);
        co_return (early ? "early " : "late ") + event;
    });
    start(root, "", {.id = "a"});
    settle();
    runtime().advance(1s);

    raise("a", first, "e");

    EXPECT_EQ(output("a"), "late e");
}

TEST_P(Messages, T13_AThousandBufferedMessagesAreReadInOneTurn) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        int sum = 0;
        for (int i = 0; i < 1000; ++i) {
            const Text next = co_await ctx.dequeue(inbox);
            sum += std::stoi(next);
        }
        co_return std::to_string(sum);
    });
    start(root, "", {.id = "a"});
    for (int i = 0; i < 1000; ++i) {
        enqueue("a", inbox, std::to_string(i));
    }

    ASSERT_TRUE(runtime().run_turn());

    EXPECT_EQ(output("a"), "499500");
}

TEST_P(Messages, UnreadOnesAreCarriedThroughOneExecutionAfterAnother) {
    registry.add(root, [](Context ctx, Text all) -> Task<Text> {
        const Text next = co_await ctx.dequeue(inbox);
        all += next;
        if (all.size() == 5) {
            co_return all;
        }
        co_return co_await ctx.continue_as_new(root, all);
    });
    start(root, "", {.id = "a"});
    for (const auto* text : {"1", "2", "3", "4", "5"}) {
        enqueue("a", inbox, text);
    }

    EXPECT_EQ(output("a"), "12345");
}

TEST_P(Messages, AMessageSentBeforeTheStartWaitsForIt) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Order order = co_await ctx.dequeue(orders);
        co_return order.item;
    });
    enqueue("a", orders, {.item = "early", .amount = 1});
    settle();

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "early");
}

TEST_P(Messages, TwoAnswersToOneStepCountOnce) {
    constexpr Activity<Text(Text)> work{"Work"};
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const Text result = co_await ctx.call(Activity<Text(Text)>{"Work"}, input);
        const Text event = co_await ctx.wait_for(first);
        co_return result + event;
    });
    start(root, "x", {.id = "a"});
    settle();
    const work::ActivityCompleted again{
        .instance = "a", .execution_id = 1, .id = 2, .result = "again"};
    const work::ActivityFailed and_again{
        .instance = "a", .execution_id = 1, .id = 2, .details = details::Application{}};

    ASSERT_TRUE(store->enqueue_for_orchestrator(again, {}));
    ASSERT_TRUE(store->enqueue_for_orchestrator(and_again, {})); // T-12
    settle();
    raise("a", first, "!");

    EXPECT_EQ(output("a"), "x!");
    EXPECT_EQ(count<history::ActivityCompleted>(history("a")), 1u);
}

} // namespace
} // namespace durable::e2e::messages_test
