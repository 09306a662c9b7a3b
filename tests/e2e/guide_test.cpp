// What docs/authoring.md shows, run. The page quotes this file: tools/check_style.py compares them.

#include "e2e/e2e.hpp"

#include <numeric>
#include <optional>
#include <stdexcept>

namespace durable::e2e::guide_test {
namespace {

DURABLE_E2E_SUITE(Guide);

constexpr durable::Activity<int(std::string)> price_of{"PriceOf"};
constexpr durable::Activity<std::string(std::string)> charge{"Charge"};
constexpr durable::Activity<void(durable::Undo<std::string, std::string>)> refund{"Refund"};
constexpr durable::Activity<void(std::string)> apologise{"Apologise"};
constexpr durable::Activity<std::string(std::string)> ship{"Ship"};
constexpr durable::Orchestration<int(std::vector<std::string>)> basket{"Basket"};
constexpr durable::Orchestration<std::string(std::string)> order{"Order"};
constexpr durable::Orchestration<std::string(std::string)> bidding{"Bidding"};
constexpr durable::Orchestration<std::string(std::string)> errand{"Errand"};
constexpr durable::Orchestration<std::string(std::string)> delivery{"Delivery"};
constexpr durable::Orchestration<int(int)> account{"Account"};
constexpr durable::Event<std::string> offer{"Offer"};
constexpr durable::Event<std::string> withdrawal{"Withdrawal"};
constexpr durable::Queue<int> payments{"Payments"};

// A bank, as seen from here.
class Gateway {
 public:
    explicit Gateway(std::vector<std::string>& refunded) : refunded_{refunded} {}
    void refund(const std::string& receipt) const { refunded_.push_back(receipt); }
    void refund_by_key(const std::string& key) const { refunded_.push_back("key " + key); }

 private:
    std::vector<std::string>& refunded_;
};

durable::Task<int> add_up(durable::Context ctx, std::vector<std::string> items) {
    std::vector<durable::Operation<int>> lookups;
    for (const auto& item : items) {
        lookups.push_back(ctx.call(price_of, item)); // scheduled now
    }
    const auto prices = co_await durable::all{std::move(lookups)}; // awaited together
    co_return std::accumulate(prices.begin(), prices.end(), 0);
}

durable::Task<std::string> handle_order(durable::Context ctx, std::string item) {
    // If anything fails from here on, or a client cancels, `refund` is called.
    const auto receipt = co_await ctx.call(charge, item, durable::undo_with(refund));

    ctx.set_status("paid");
    const auto parcel = co_await ctx.call(
        ship, item, {.retry = {.max_attempts = 5, .first_delay = 1s}, .timeout = 30s});
    co_return parcel;
}

durable::Task<std::string> deliver(durable::Context ctx, std::string item) {
    std::optional<durable::Failure> failure;
    try {
        const auto receipt = co_await ctx.call(charge, item);
        co_return co_await ctx.call(ship, receipt);
    } catch (const durable::OperationFailed& error) {
        failure = error.failure(); // only remembered here
    }
    co_await ctx.call(apologise, item);
    co_return "sorry: " + failure->message;
}

durable::Task<std::string> take_bids(durable::Context ctx, std::string item) {
    auto first =
        co_await durable::race{ctx.wait_for(offer), ctx.wait_for(withdrawal), ctx.sleep(72h)};
    switch (first.index()) {
    case 0:
        co_return item + " sold to " + std::get<0>(first);
    case 1:
        co_return item + " withdrawn: " + std::get<1>(first);
    default:
        co_return item + " not sold";
    }
}

durable::Task<std::string> run_errand(durable::Context ctx, std::string item) {
    const auto outcome = co_await ctx.call(order, item).as_result(); // a child orchestration
    if (!outcome) {
        co_return "no " + item + ": " + outcome.error().message;
    }
    co_return *outcome;
}

durable::Task<int> keep_account(durable::Context ctx, int balance) {
    for (int received = 0; received < 100; ++received) {
        const auto payment = co_await ctx.within(24h, ctx.dequeue(payments));
        if (!payment) {
            co_return balance; // a quiet day ends it
        }
        balance += *payment;
        ctx.kv().set("balance", balance);
    }
    co_return co_await ctx.continue_as_new(account, balance); // a fresh, short history
}

TEST_P(Guide, WhatACatchBlockHasRememberedIsAwaitedBehindIt) {
    registry.add(charge, [](const std::string& item) { return item + " paid"; });
    registry.add(ship,
                 [](const std::string&) -> std::string { throw std::runtime_error{"no truck"}; });
    registry.add(apologise, [](const std::string&) {});
    registry.add(delivery, deliver);
    start(delivery, "chair", {.id = "a"});
    settle();

    EXPECT_EQ(output("a"), "sorry: no truck");
}

TEST_P(Guide, ManyAtOnce) {
    registry.add(price_of, [](const std::string& item) { return static_cast<int>(item.size()); });
    registry.add(basket, add_up);
    start(basket, {"tea", "milk"}, {.id = "a"});

    EXPECT_EQ(output("a"), "7");
}

TEST_P(Guide, UndoAndRetry) {
    std::vector<std::string> refunded;
    registry.add(charge, [](const std::string& item) { return "receipt for " + item; });
    const Gateway gateway{refunded};
    registry.add(refund, [&](const durable::Undo<std::string, std::string>& charged) {
        if (charged.result) {
            gateway.refund(*charged.result);
        } else { // failed, or unknown: the gateway knows, by the key of the call
            gateway.refund_by_key(charged.idempotency_key);
        }
    });
    registry.add(ship, [](const std::string& item) -> std::string {
        throw std::runtime_error{"no truck for " + item};
    });
    registry.add(order, handle_order);
    registry.add(errand, run_errand);
    start(errand, "chair", {.id = "a"});

    EXPECT_EQ(output("a"), "no chair: no truck for chair");
    EXPECT_EQ(refunded, std::vector<std::string>{"receipt for chair"});
}

TEST_P(Guide, WhateverComesFirst) {
    registry.add(bidding, take_bids);
    for (const auto* id : {"sold", "withdrawn", "neither"}) {
        start(bidding, "vase", {.id = id});
    }
    settle();
    raise("sold", offer, "ana");
    raise("withdrawn", withdrawal, "broken");

    EXPECT_EQ(output("sold"), "vase sold to ana");
    EXPECT_EQ(output("withdrawn"), "vase withdrawn: broken");
    EXPECT_EQ(output("neither"), "vase not sold");
}

TEST_P(Guide, ALongLife) {
    registry.add(account, keep_account);
    start(account, 0, {.id = "a"});
    for (int payment = 1; payment <= 250; ++payment) {
        enqueue("a", payments, payment);
    }
    settle();

    EXPECT_EQ(client.kv("a", "balance").value().value(), "31375");
    EXPECT_EQ(output("a"), "31375");
    EXPECT_FALSE(history("a", 3).empty()) << "250 payments are three executions";
}

TEST_P(Guide, Testing) {
    registry.add(bidding, take_bids);

    durable::TestRuntime test{registry};
    const auto run = test.client().start(bidding, "vase", {.id = "vase-1"}).value();
    EXPECT_EQ(test.finish(run).value(), "vase not sold"); // 72 hours, at once
}

} // namespace
} // namespace durable::e2e::guide_test
