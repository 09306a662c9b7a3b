// The provider's identity and its back door, which the validation kit uses to damage what is
// stored.

#include "unit/memory/memory_fixture.hpp"

#include <durable/memory.hpp>

#include <stdexcept>

namespace durable {
namespace {

class BackDoor : public MemoryTest {
 protected:
    void make_history(const std::string& instance) {
        send(start(instance));
        commit(fetch(),
               {.history_delta = {{.event_id = 1, .kind = history::PatchMarked{"p"}},
                                  {.event_id = 2, .kind = history::PatchMarked{"q"}}}});
    }
};

TEST_F(BackDoor, TheProviderSaysWhoItIs) {
    const auto opened = memory::open();

    EXPECT_EQ(opened->name(), "memory");
    EXPECT_EQ(opened->version(), engine_version_text());
    EXPECT_EQ(opened->durability(), Durability::none);
    EXPECT_NE(opened->as_management_capability(), nullptr);
}

TEST_F(BackDoor, ANegativeTimeToWaitIsRefused) {
    EXPECT_THROW((void)memory::open({.unstarted_message_ttl = Duration{-1}}),
                 std::invalid_argument);
}

TEST_F(BackDoor, DamageIsReportedByReadersAndToTurns) {
    make_history("a");
    ASSERT_TRUE(provider.corrupt_event("a", 1, 2));
    send(raised("a"));

    EXPECT_EQ(provider.read("a").error().code, ErrorCode::corrupt);
    EXPECT_EQ(provider.read("a").error().operation, "read");
    const auto turn = fetch();
    ASSERT_TRUE(turn);
    EXPECT_TRUE(turn->history_error);
    EXPECT_TRUE(turn->history.empty());
}

TEST_F(BackDoor, DamageToNothingIsNotFound) {
    EXPECT_EQ(provider.corrupt_history("ghost").error().code, ErrorCode::not_found);
    EXPECT_EQ(provider.corrupt_event("ghost", 1, 1).error().code, ErrorCode::not_found);
    make_history("a");
    EXPECT_EQ(provider.corrupt_event("a", 1, 9).error().code, ErrorCode::not_found);
    EXPECT_TRUE(provider.corrupt_history("a"));
}

TEST_F(BackDoor, ADamagedPrefixDoesNotHurtWhoHoldsItInACache) {
    make_history("a");
    ASSERT_TRUE(provider.corrupt_event("a", 1, 1));
    send(raised("a"));

    const auto turn = provider
                          .fetch_orchestration_item(
                              {.lock_timeout = 1s,
                               .cached = [](std::string_view) { return CachedHistory{1, 1}; }})
                          .value();

    EXPECT_EQ(turn->history_error, std::nullopt);
    EXPECT_EQ(turn->history.size(), 1u);
}

TEST_F(BackDoor, InjectedRowsAreDeliveredOrQuarantined) {
    run_first_turn("a");
    ASSERT_TRUE(provider.inject_orchestrator_row(
        "a", R"({"ExternalRaised":{"instance":"a","name":"n","data":"d"}})"));
    ASSERT_TRUE(provider.inject_orchestrator_row("a", "{"));
    ASSERT_TRUE(provider.inject_worker_row("{"));

    EXPECT_EQ(fetch()->messages.size(), 1u);
    EXPECT_FALSE(fetch_work());
    EXPECT_EQ(provider.list_quarantined()->size(), 2u);
    EXPECT_EQ(provider.get_system_metrics()->quarantined_items, 2u);
    EXPECT_EQ(provider.max_attempt_count("a"), 1u);
    EXPECT_EQ(provider.max_attempt_count("ghost"), 0u);
}

TEST_F(BackDoor, WaitingMessagesExpireAndAreCounted) {
    send(raised("typo"));
    EXPECT_EQ(provider.get_queue_depths()->orchestrator_queue, 1u);

    clock->advance(1h);

    EXPECT_EQ(provider.get_queue_depths()->orchestrator_queue, 0u);
    EXPECT_EQ(provider.get_system_metrics()->expired_messages, 1u);
    EXPECT_EQ(provider.list_quarantined()->size(), 1u);
}

TEST_F(BackDoor, BulkCallsActInPortionsUpToTheirLimit) {
    for (int i = 0; i < 2300; ++i) {
        send(start("i-" + std::to_string(i)));
        commit(fetch(), {.metadata = {.status = ExecutionStatus::completed}});
    }

    EXPECT_EQ(provider.delete_instance_bulk({.limit = 5})->instances_deleted, 5u);
    EXPECT_EQ(provider.delete_instance_bulk({})->instances_deleted, 1000u);
    EXPECT_EQ(provider.prune_executions_bulk({.limit = 1200}, {})->instances_processed, 1200u);
    EXPECT_EQ(provider.delete_instance_bulk({.limit = 100'000})->instances_deleted, 1295u);
    EXPECT_EQ(provider.delete_instance_bulk({})->instances_deleted, 0u);
}

} // namespace
} // namespace durable
