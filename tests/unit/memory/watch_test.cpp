// Watching an instance: what a client that waits for an end sees.

#include "unit/memory/memory_fixture.hpp"

namespace durable {
namespace {

class Watch : public MemoryTest {};

TEST_F(Watch, AnUnknownInstanceHasRevisionZero) {
    const auto unknown = state("ghost");

    EXPECT_FALSE(unknown.exists);
    EXPECT_EQ(unknown.revision, 0u);
}

TEST_F(Watch, AMessageAloneIsNoChange) {
    auto watching = waiting_watch("a", 0);
    clock->await_sleeps(1);

    send(start("a"));
    EXPECT_FALSE(done(watching));
    commit(fetch(), {.metadata = {.status = ExecutionStatus::completed, .output = "42"}});

    const auto ended = watching.get();
    EXPECT_TRUE(ended.exists);
    EXPECT_EQ(ended.orchestration_name, "Order");
    EXPECT_EQ(ended.status, ExecutionStatus::completed);
    EXPECT_EQ(ended.output, "42");
    EXPECT_EQ(ended.execution_id, 1u);
    EXPECT_EQ(clock->sleeps(), 1);
}

TEST_F(Watch, EveryCommitIsSeenAndAnOldRevisionReturnsAtOnce) {
    run_first_turn("a");
    const auto first = state("a");
    send(raised("a"));
    commit(fetch(),
           {.history_delta = {{.event_id = 9, .kind = history::CustomStatusUpdated{"half"}}}});

    const auto second = waiting_watch("a", first.revision).get();

    EXPECT_GT(second.revision, first.revision);
    EXPECT_EQ(second.custom_status, (CustomStatus{.status = "half", .version = 1}));
    EXPECT_EQ(clock->sleeps(), 0);
}

TEST_F(Watch, TheDeletionIsSeen) {
    run_first_turn("a");
    const auto seen = state("a").revision;
    auto watching = waiting_watch("a", seen);
    clock->await_sleeps(1);

    ASSERT_TRUE(provider.delete_instance("a", true));

    const auto gone = watching.get();
    EXPECT_FALSE(gone.exists);
    EXPECT_GT(gone.revision, seen);
}

TEST_F(Watch, OthersChangesWakeNobody) {
    run_first_turn("a");
    auto watching = waiting_watch("a", state("a").revision);
    clock->await_sleeps(1);

    run_first_turn("b");
    EXPECT_FALSE(done(watching));
    stop.request_stop();

    EXPECT_TRUE(watching.get().exists);
    EXPECT_EQ(clock->sleeps(), 1);
}

TEST_F(Watch, AllWhoWatchAnInstanceAreWoken) {
    run_first_turn("a");
    const auto seen = state("a").revision;
    auto first = waiting_watch("a", seen);
    auto second = waiting_watch("a", seen);
    clock->await_sleeps(2);
    send(raised("a"));

    commit(fetch(), {});

    EXPECT_EQ(first.get().revision, second.get().revision);
}

TEST_F(Watch, WithoutAChangeItEndsWithItsTime) {
    run_first_turn("a");
    const auto seen = state("a").revision;
    auto watching = waiting_watch("a", seen);
    clock->await_sleeps(1);

    clock->advance(patience);

    EXPECT_EQ(watching.get().revision, seen);
}

} // namespace
} // namespace durable
