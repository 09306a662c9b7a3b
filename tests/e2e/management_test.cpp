// Looking inside, deleting and pruning, with a runtime at work.

#include "e2e/e2e.hpp"

namespace durable::e2e::management_test {
namespace {

DURABLE_E2E_SUITE(Managing);

using Text = std::string;

constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Orchestration<Text(Text)> parent{"Parent"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Activity<Text(Text)> work{"Work"};
constexpr Event<Text> go{"Go"};

Task<Text> count_to_three(Context ctx, int n) {
    if (n == 3) {
        co_return "three";
    }
    co_return co_await ctx.continue_as_new(counter, n + 1);
}

Task<Text> two_children(Context ctx, Text input) {
    auto one = ctx.call(child, input);
    auto two = ctx.call(child, input);
    co_await all{one, two};
    co_return "both";
}

ErrorCode code_of(const auto& result) {
    return result ? ErrorCode::unsupported : result.error().code;
}

TEST_P(Managing, AStoreTellsWhatItCanDo) {
    const auto capabilities = capabilities_of(*store);

    EXPECT_EQ(capabilities.provider, store->name());
    EXPECT_EQ(capabilities.durability, store->durability());
    EXPECT_TRUE(capabilities.management);
    EXPECT_TRUE(client.has_management());
}

TEST_P(Managing, AStoreWithoutManagementSaysSo) {
    class Plain final : public ForwardingProvider {
     public:
        using ForwardingProvider::ForwardingProvider;
        ProviderAdmin* as_management_capability() noexcept override { return nullptr; }
    };
    const Client plain{std::make_shared<Plain>(store)};

    EXPECT_FALSE(plain.has_management());
    EXPECT_EQ(code_of(plain.management()), ErrorCode::unsupported);
}

TEST_P(Managing, NeedsAProvider) {
    EXPECT_EQ(code_of(Management::of(nullptr)), ErrorCode::invalid_argument);
}

TEST_P(Managing, IsAsGoodAsNewWhenItWasMovedFrom) {
    auto first = management();
    const auto second = std::move(first);

    EXPECT_TRUE(first.list_instances()); // NOLINT(bugprone-use-after-move): moving is copying
    EXPECT_TRUE(second.list_instances());
}

TEST_P(Managing, InstancesAreFoundByTheirState) {
    registry.add(counter, count_to_three);
    registry.add(parent,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    registry.add(child, [](Context, Text) -> Task<Text> { throw std::runtime_error{"no"}; });
    start(counter, 1, {.id = "completed"});
    start(parent, "", {.id = "running"});
    start(child, "", {.id = "failed"});
    settle();
    using Ids = std::vector<Text>;

    EXPECT_EQ(management().list_instances().value().size(), 3u);
    EXPECT_EQ(management().list_instances_by_status("Completed").value(), Ids{"completed"});
    EXPECT_EQ(management().list_instances_by_status("Running").value(), Ids{"running"});
    EXPECT_EQ(management().list_instances_by_status("Failed").value(), Ids{"failed"});
    EXPECT_EQ(code_of(management().list_instances_by_status("Busy")), ErrorCode::invalid_argument);
    const auto totals = management().system_metrics().value();
    EXPECT_EQ(totals.total_instances, 3u);
    EXPECT_EQ(totals.total_executions, 5u);
    EXPECT_EQ(totals.running_instances, 1u);
    EXPECT_EQ(totals.failed_instances, 1u);
}

TEST_P(Managing, InstancesAndExecutionsAreDescribed) {
    registry.add(counter, "1.2.0", count_to_three);
    start(counter, 1, {.id = "a"});
    settle();

    const auto info = management().instance_info("a").value();
    EXPECT_EQ(info.orchestration_name, "Counter");
    EXPECT_EQ(info.orchestration_version, "1.2.0");
    EXPECT_EQ(info.current_execution_id, 3u);
    EXPECT_EQ(info.status, "Completed");
    EXPECT_EQ(info.output, "three");
    const auto first = management().execution_info("a", 1).value();
    EXPECT_EQ(first.status, "ContinuedAsNew");
    EXPECT_EQ(first.output, "2");
    EXPECT_EQ(management().latest_execution("a").value(), 3u);
    EXPECT_EQ(management().history("a", 2).value(), history("a", 2));
    EXPECT_EQ(code_of(management().instance_info("nobody")), ErrorCode::not_found);
}

TEST_P(Managing, NothingOfNobodyIsFound) {
    registry.add(counter, count_to_three);
    start(counter, 1, {.id = "a"});
    settle();

    EXPECT_EQ(code_of(management().latest_execution("nobody")), ErrorCode::not_found);
    EXPECT_EQ(code_of(management().instance_tree("nobody")), ErrorCode::not_found);
    EXPECT_EQ(code_of(management().executions("nobody")), ErrorCode::not_found);
    EXPECT_EQ(code_of(management().children("nobody")), ErrorCode::not_found);
    EXPECT_EQ(code_of(management().history("nobody")), ErrorCode::not_found);
    EXPECT_EQ(code_of(management().history("nobody", 1)), ErrorCode::not_found);
    EXPECT_EQ(code_of(management().history("a", 99)), ErrorCode::not_found);
    EXPECT_FALSE(management().history("a").value().empty());
    ASSERT_TRUE(management().prune("a", {.keep_last = 1}));
    EXPECT_EQ(code_of(management().history("a", 1)), ErrorCode::not_found);
    EXPECT_TRUE(runtime().history("nobody").empty());
}

TEST_P(Managing, ATreeIsDeletedAsAWhole) {
    registry.add(parent, two_children);
    registry.add(child, [](Context, Text) -> Task<Text> { co_return ""; });
    start(parent, "", {.id = "p"});
    settle();
    const auto tree = management().instance_tree("p").value();
    ASSERT_EQ(tree.size(), 3u);
    EXPECT_EQ(management().children("p").value().size(), 2u);
    EXPECT_EQ(management().parent(tree.all_ids.at(1)).value(), "p");

    EXPECT_EQ(code_of(management().delete_instance(tree.all_ids.at(1), true)),
              ErrorCode::not_a_root);
    EXPECT_EQ(code_of(management().delete_instances({"p"})), ErrorCode::has_children);
    EXPECT_EQ(management().delete_instance("p").value().instances_deleted, 3u);

    EXPECT_TRUE(management().list_instances().value().empty());
}

TEST_P(Managing, ARunningInstanceIsDeletedOnlyByForceAndItsIdCanBeUsedAgain) {
    registry.add(parent, [](Context ctx, Text input) -> Task<Text> {
        if (input == "quick") {
            co_return "second life";
        }
        auto sleeping = ctx.sleep(1h);
        auto working = ctx.call(work, "", {.tag = "nobody"});
        co_return co_await ctx.wait_for(go);
    });
    start(parent, "slow", {.id = "p"});
    settle();

    EXPECT_EQ(code_of(management().delete_instance("p")), ErrorCode::still_running);
    EXPECT_TRUE(management().delete_instance("p", true));
    start(parent, "quick", {.id = "p"});

    EXPECT_EQ(output("p"), "second life");
    EXPECT_EQ(count<history::OrchestrationStarted>(history("p")), 1u);
}

TEST_P(Managing, OthersGoOnAfterADeletionUnderTheirFeet) {
    registry.add(parent,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    start(parent, "", {.id = "gone"});
    settle();
    ASSERT_TRUE(management().delete_instance("gone", true));
    raise("gone", go, "too late");

    start(parent, "", {.id = "alive"});
    settle();
    raise("alive", go, "here");

    EXPECT_EQ(output("alive"), "here");
    EXPECT_EQ(status("gone"), RunStatus::not_found);
}

TEST_P(Managing, ABulkDeletionKeepsToItsFilter) {
    registry.add(counter, count_to_three);
    registry.add(parent,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    for (const auto* id : {"a", "b", "c", "d"}) {
        start(counter, 3, {.id = id});
    }
    start(parent, "", {.id = "running"});
    settle();

    EXPECT_EQ(
        management().delete_bulk({.instance_ids = {{"a", "running"}}}).value().instances_deleted,
        1u);
    EXPECT_EQ(management().delete_bulk({.limit = 2}).value().instances_deleted, 2u);

    EXPECT_EQ(management().list_instances().value().size(), 2u);
    EXPECT_EQ(status("running"), RunStatus::running);
}

TEST_P(Managing, T27_AnInstanceBetweenTwoExecutionsIsNotDeletedInBulk) {
    registry.add(counter, count_to_three);
    start(counter, 1, {.id = "a"});
    ASSERT_TRUE(runtime().run_turn()); // continued, the successor is queued

    EXPECT_EQ(management().delete_bulk({}).value().instances_deleted, 0u);

    EXPECT_EQ(output("a"), "three");
}

TEST_P(Managing, PruningKeepsTheLastExecutionsAndTheRunningOne) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 5) {
            co_return co_await ctx.wait_for(go);
        }
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });
    start(counter, 1, {.id = "a"});
    settle();

    EXPECT_EQ(management().prune("a", {.keep_last = 2}).value().executions_deleted, 3u);
    EXPECT_EQ(management().executions("a").value(), (std::vector<std::uint64_t>{4, 5}));
    EXPECT_EQ(management().prune_bulk({}, {.keep_last = 1}).value().executions_deleted, 1u);
    raise("a", go, "still here");

    EXPECT_EQ(output("a"), "still here");
}

} // namespace
} // namespace durable::e2e::management_test
