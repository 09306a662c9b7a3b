// From the moment a start returns, its instance exists, and it is the only one of its id.

#include "e2e/e2e.hpp"

#include <algorithm>
#include <latch>
#include <thread>

namespace durable::e2e::starts_test {
namespace {

DURABLE_E2E_SUITE(Starts);

using Text = std::string;
using Ids = std::vector<Text>;

constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> parent{"Parent"};
constexpr Event<Text> go{"Go"};

Task<Text> echo(Context, Text input) {
    co_return input;
}

Task<Text> echo_after_go(Context ctx, Text input) {
    const Text went = co_await ctx.wait_for(go);
    co_return input + went;
}

// U6
TEST_P(Starts, ASecondStartIsRefusedBeforeAnyTurn) {
    registry.add(root, echo);
    ASSERT_TRUE(client.start(root, "first", {.id = "a"}));

    const auto second = client.start(root, "second", {.id = "a"});

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::already_exists);
    EXPECT_EQ(second.error().text(), "start: instance a exists");
    EXPECT_EQ(output("a"), "first");
}

TEST_P(Starts, ASecondStartMayAttachBeforeAnyTurn) {
    registry.add(root, echo);
    ASSERT_TRUE(client.start(root, "first", {.id = "a"}));

    const auto second = client.start(root, "second", {.id = "a", .existing = Existing::attach});

    EXPECT_EQ(runtime().finish(second.value()).value(), "first");
}

TEST_P(Starts, AnInstanceIsPendingThenRunningThenCompleted) {
    registry.add(root, "1.4.0", echo_after_go);
    const auto listed = [&](const Text& status) {
        return management().list_instances_by_status(status).value();
    };
    start(root, "x", {.id = "a"});
    EXPECT_EQ(status("a"), RunStatus::pending);
    EXPECT_EQ(management().list_instances().value(), Ids{"a"});
    EXPECT_EQ(listed("Pending"), Ids{"a"});
    EXPECT_EQ(management().instance_info("a").value().status, "Pending");
    EXPECT_EQ(management().system_metrics().value().pending_instances, 1u);

    settle();
    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(listed("Pending"), Ids{});
    EXPECT_EQ(listed("Running"), Ids{"a"});
    EXPECT_EQ(management().system_metrics().value().pending_instances, 0u);

    raise("a", go, "!");
    EXPECT_EQ(output("a"), "x!");
    EXPECT_EQ(listed("Completed"), Ids{"a"});
}

TEST_P(Starts, APendingInstanceCanBeCancelledAndDeleted) {
    registry.add(root, echo);
    start(root, "x", {.id = "cancelled"});
    ASSERT_TRUE(client.cancel("cancelled", "never mind"));
    start(root, "x", {.id = "deleted", .delay = 1h});
    EXPECT_EQ(management().delete_instance("deleted").error().code, ErrorCode::still_running);
    ASSERT_TRUE(management().delete_instance("deleted", true));

    EXPECT_EQ(failure("cancelled"), "canceled: never mind");
    runtime().advance(2h);
    EXPECT_EQ(status("deleted"), RunStatus::not_found);
}

TEST_P(Starts, WhatIsSentToADelayedInstanceWaitsForItAsLongAsItTakes) {
    registry.add(root, echo_after_go);
    start(root, "x", {.id = "a", .delay = 24h * 365});
    raise("a", go, " in a year");

    EXPECT_EQ(output("a"), "x in a year");
}

TEST_P(Starts, AChildThatFindsItsIdTakenByAPendingInstanceIsToldSo) {
    registry.add(root, echo);
    registry.add(parent, [](Context ctx, Text input) -> Task<Text> {
        const auto answer = co_await ctx.call(root, input, {.id = "a"}).as_result();
        co_return answer ? *answer : answer.error().message;
    });
    start(root, "of a client", {.id = "a", .delay = 1h});
    start(parent, "of a parent", {.id = "p"});

    EXPECT_EQ(output("p"), "instance 'a' already exists");
    EXPECT_EQ(output("a"), "of a client");
}

// ---- Many clients at once

class StartsAtOnce : public ::testing::TestWithParam<Existing> {
 protected:
    static constexpr std::size_t clients = 64;

    // All call together; what each of them was answered.
    [[nodiscard]] std::vector<Result<durable::Run<Text>>> start_all() {
        std::vector<Result<durable::Run<Text>>> answers(clients,
                                                        durable::Run<Text>{Client{store}, ""});
        std::latch ready{clients};
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < clients; ++i) {
            threads.emplace_back([&, i] {
                ready.arrive_and_wait();
                answers[i] = Client{store}.start(
                    root, std::to_string(i), {.id = "a", .existing = GetParam()});
            });
        }
        threads.clear();
        return answers;
    }

    std::shared_ptr<Provider> store = make_store();
};

INSTANTIATE_TEST_SUITE_P(,
                         StartsAtOnce,
                         ::testing::Values(Existing::refuse, Existing::attach),
                         [](const auto& info) {
                             return info.param == Existing::refuse ? "Refuse" : "Attach";
                         });

TEST_P(StartsAtOnce, OneOfThemMakesTheInstanceAndAllKnowIt) {
    const auto answers = start_all();
    Registry registry;
    registry.add(root, echo);
    const auto runtime = Runtime::start(store, registry);
    const auto result = Client{store}.wait("a", 60s).value().output;

    std::size_t succeeded = 0;
    for (std::size_t i = 0; i < clients; ++i) {
        if (!answers[i]) {
            EXPECT_EQ(answers[i].error().code, ErrorCode::already_exists);
            continue;
        }
        ++succeeded;
        EXPECT_EQ(answers[i]->wait(60s).value(), result);
        if (GetParam() == Existing::refuse) {
            EXPECT_EQ(result, std::to_string(i)); // its own input, not that of another start
        }
    }
    EXPECT_EQ(succeeded, GetParam() == Existing::refuse ? 1 : clients);
    EXPECT_EQ(Management::of(store)->list_instances().value(), Ids{"a"});
    EXPECT_EQ(Management::of(store)->queue_depths().value().orchestrator_queue, 0u);
}

} // namespace
} // namespace durable::e2e::starts_test
