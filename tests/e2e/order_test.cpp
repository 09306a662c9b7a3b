// Messages and events are read in the order in which they were sent, each once, whatever happens
// between: executions that continue as new with unread ones, senders that never pause, crashes.

#include "e2e/e2e.hpp"

#include <durable/codec.hpp>

#include <array>
#include <cstddef>
#include <random>
#include <thread>
#include <variant>

namespace durable::e2e::order_test {
namespace {

DURABLE_E2E_SUITE(Order);

using Text = std::string;
using Texts = std::vector<Text>;

constexpr Orchestration<Texts(Texts)> reader{"Reader"};
constexpr Queue<Text> left{"Left"};
constexpr Queue<Text> right{"Right"};
constexpr Event<Text> bell{"Bell"};
constexpr std::array mailboxes{"Left", "Right", "Bell"};

// Reads a few, sometimes none, and begins again, until it has seen `total`.
template <std::size_t total>
Task<Texts> read_some(Context ctx, Texts seen) {
    const auto most = ctx.execution_id() * 7 % 4;
    for (std::uint64_t i = 0; i < most && seen.size() < total; ++i) {
        auto next = co_await race{ctx.dequeue(left), ctx.dequeue(right), ctx.wait_for(bell)};
        seen.push_back(std::visit([](const Text& text) { return text; }, next));
    }
    if (seen.size() == total) {
        co_return seen;
    }
    co_return co_await ctx.continue_as_new(reader, seen);
}

// "Left 1", "Left 2", ... to the queue or event of this name.
void send(const Client& client, std::size_t mailbox, std::size_t number) {
    const auto text = Text{mailboxes.at(mailbox)} + ' ' + std::to_string(number);
    const auto sent = mailbox == 0   ? client.enqueue("a", left, text)
                      : mailbox == 1 ? client.enqueue("a", right, text)
                                     : client.raise("a", bell, text);
    ASSERT_TRUE(sent) << sent.error().text();
}

void expect_each_once_in_order(const Texts& seen,
                               const std::array<std::size_t, mailboxes.size()>& sent) {
    for (std::size_t mailbox = 0; mailbox < mailboxes.size(); ++mailbox) {
        const Text name = mailboxes.at(mailbox);
        Texts expected;
        for (std::size_t number = 1; number <= sent.at(mailbox); ++number) {
            expected.push_back(name + ' ' + std::to_string(number));
        }
        Texts got;
        for (const auto& text : seen) {
            if (text.starts_with(name)) {
                got.push_back(text);
            }
        }
        EXPECT_EQ(got, expected) << name;
    }
}

// Sends by the dice, never more than `total`.
class Sender {
 public:
    Sender(const Client& client, std::mt19937& dice, std::size_t total)
        : client_{client}, dice_{dice}, left_{total} {}

    void one() {
        if (left_ > 0) {
            --left_;
            const auto mailbox = dice_() % mailboxes.size();
            send(client_, mailbox, ++sent_.at(mailbox));
        }
    }
    void some() {
        while (left_ > 0 && dice_() % 2 == 0) {
            one();
        }
    }
    void all() {
        while (left_ > 0) {
            one();
        }
    }
    [[nodiscard]] bool done() const { return left_ == 0; }
    [[nodiscard]] const std::array<std::size_t, mailboxes.size()>& sent() const { return sent_; }

 private:
    const Client& client_;
    std::mt19937& dice_;
    std::size_t left_;
    std::array<std::size_t, mailboxes.size()> sent_{};
};

TEST_P(Order, OfMailboxesOutlivesContinueAsNewUnderFire) {
    static constexpr std::size_t total = 60;
    for (unsigned seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crash();
        clock = std::make_shared<ManualClock>();
        store = std::make_shared<FaultyProvider>(make_store(clock));
        client = Client{store, clock};
        registry = Registry{};
        registry.add(reader, read_some<total>);
        std::mt19937 dice{seed};
        Sender sender{client, dice, total};
        start(reader, Texts{}, {.id = "a"});
        // While a turn runs and is stored, others send.
        store->change_turn_ack = [&](TurnCommit commit) {
            sender.some();
            return commit;
        };
        while (!sender.done()) {
            const auto trouble = dice() % 12;
            if (trouble == 0) {
                crash();
            } else if (trouble == 1) {
                store->fail_next_turn_ack({.code = ErrorCode::unavailable, .after_the_deed = true});
            } else if (trouble == 2) {
                store->fail_next_turn_ack({.code = ErrorCode::lock_lost});
            }
            if (!runtime().run_turn()) {
                sender.one();
                runtime().advance(1s); // a lease that was lost runs out
            }
        }

        const auto seen = from_payload<Texts>(output("a"));

        ASSERT_TRUE(seen) << seen.error().message;
        expect_each_once_in_order(*seen, sender.sent());
        store->change_turn_ack = nullptr;
    }
}

TEST_P(Order, OfASecondMessageSentDuringTheTurnThatContinuesIsBehindTheFirst) {
    registry.add(reader, [](Context ctx, Texts seen) -> Task<Texts> {
        if (ctx.execution_id() == 1) {
            co_await ctx.dequeue(right);
            co_return co_await ctx.continue_as_new(reader, seen);
        }
        for (int i = 0; i < 2; ++i) {
            const Text event = co_await ctx.wait_for(bell);
            seen.push_back(event);
        }
        for (int i = 0; i < 2; ++i) {
            const Text message = co_await ctx.dequeue(left);
            seen.push_back(message);
        }
        co_return seen;
    });
    start(reader, Texts{}, {.id = "a"});
    settle();
    enqueue("a", right, "go");
    raise("a", bell, "event 1"); // behind the message that makes it continue
    enqueue("a", left, "message 1");
    bool sent = false;
    store->change_turn_ack = [&](TurnCommit commit) {
        if (!std::exchange(sent, true)) { // the turn has been fetched and is not yet stored
            raise("a", bell, "event 2");
            enqueue("a", left, "message 2");
        }
        return commit;
    };

    EXPECT_EQ(output("a"), R"(["event 1","event 2","message 1","message 2"])");
    const auto events = history("a", 2);
    const auto* second = find<history::OrchestrationStarted>(events);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->carry_forward_events, (std::vector<CarriedMessage>{{"Left", "message 1"}}));
    EXPECT_EQ(second->carry_forward_raised, (std::vector<CarriedMessage>{{"Bell", "event 1"}}));
}

// Everything unread is one message to the store. A store that cannot take it keeps the turn from
// being stored, and in the end the instance says so.
class SmallStore final : public ForwardingProvider {
 public:
    using ForwardingProvider::ForwardingProvider;

    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        for (const auto& item : commit.orchestrator_items) {
            if (encode(item).value().size() > 10'000) {
                return fail(ErrorCode::invalid_argument, "a text is too large for the store");
            }
        }
        return inner().ack_orchestration_item(commit);
    }
};

TEST(OrderInASmallStore, MoreUnreadThanFitsFailsTheInstanceWithTheStoresWords) {
    Registry registry;
    registry.add(reader, read_some<100>);
    const auto clock = std::make_shared<ManualClock>();
    TestRuntime test{registry,
                     {.runtime = {.logger = silent_logger()},
                      .clock = clock,
                      .provider = std::make_shared<SmallStore>(make_store(clock))}};
    const auto run = test.client().start(reader, Texts{}, {.id = "a"}).value();
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(test.client().enqueue("a", left, Text(1'000, 'x')));
    }

    const auto result = test.finish(run);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().failure_kind, failure_kind::poison);
    EXPECT_NE(result.error().message.find("a text is too large for the store"), Text::npos)
        << result.error().message;
}

TEST(OrderOnThreads, OfMailboxesOutlivesContinueAsNewWithConcurrentSenders) {
    static constexpr std::size_t each = 60;
    Registry registry;
    registry.add(reader, read_some<each * mailboxes.size()>);
    const auto store = make_store();
    const auto runtime =
        Runtime::start(store, registry, {.orchestration_threads = 2, .activity_threads = 1});
    const Client client{store};
    const auto run = client.start(reader, Texts{}, {.id = "a"}).value();
    std::vector<std::jthread> senders;
    for (std::size_t mailbox = 0; mailbox < mailboxes.size(); ++mailbox) {
        senders.emplace_back([&client, mailbox] {
            for (std::size_t number = 1; number <= each; ++number) {
                send(client, mailbox, number);
            }
        });
    }

    const auto seen = run.wait(60s);

    ASSERT_TRUE(seen) << seen.error().text();
    expect_each_once_in_order(*seen, {each, each, each});
}

} // namespace
} // namespace durable::e2e::order_test
