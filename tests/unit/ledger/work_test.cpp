// Which activity goes to whom.

#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class Announcements final : public Listener {
 public:
    void turn_ready(const TurnClass&) override {}
    void work_ready(const WorkGroup& group, std::size_t count) override {
        items += count;
        owner = group.session == nullptr ? "" : group.session->owner;
    }
    void instance_changed(std::string_view, bool) override {}

    std::size_t items = 0;
    std::string owner;
};

class Work : public LedgerTest {
 protected:
    static durable::FetchWork as(const std::string& owner, TagFilter tags = {}) {
        return {.lock_timeout = 30s, .session = SessionClaim{owner, 30s}, .tags = std::move(tags)};
    }
    static durable::FetchWork with(TagFilter tags) {
        return {.lock_timeout = 30s, .tags = std::move(tags)};
    }
    static TagFilter tags(std::vector<std::string> listed) {
        return TagFilter::tags(std::move(listed)).value();
    }
};

TEST_F(Work, P5_ItemsOfAllTagsAndSessionsAWorkerServesComeInOneOrder) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, std::nullopt, "gpu")));
    ASSERT_FALSE(queue_work(activity_item("a", 2, "s1")));
    ASSERT_FALSE(queue_work(activity_item("a", 3)));
    ASSERT_FALSE(queue_work(activity_item("a", 4, "s2", "gpu")));
    ASSERT_FALSE(queue_work(activity_item("a", 5, "s1", "gpu")));

    for (std::uint64_t id = 1; id <= 5; ++id) {
        EXPECT_EQ(fetched_work(as("me", TagFilter::any())), id);
    }
    EXPECT_EQ(fetched_work(as("me", TagFilter::any())), 0u);
}

TEST_F(Work, P6_ItemsForOthersAreSkippedNotWaitedFor) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, std::nullopt, "gpu")));
    ASSERT_FALSE(queue_work(activity_item("a", 2, "s1")));
    ASSERT_FALSE(queue_work(activity_item("a", 3)));

    EXPECT_EQ(fetched_work(), 3u);
    EXPECT_EQ(fetched_work(with(TagFilter::none())), 0u);
    EXPECT_EQ(fetched_work(with(tags({"cpu", "gpu"}))), 1u);
    EXPECT_EQ(fetched_work(as("me")), 2u);
}

TEST_F(Work, ASessionGoesToOneOwnerWithAllItsTags) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    ASSERT_FALSE(queue_work(activity_item("a", 2, "s", "gpu")));
    ASSERT_EQ(fetched_work(as("me")), 1u);

    EXPECT_EQ(fetched_work(as("you", TagFilter::any())), 0u);
    EXPECT_EQ(fetched_work(as("me", TagFilter::any())), 2u);
}

// A waiter that was woken for the rest of the session may no longer take it; the owner's waiters
// may.
TEST_F(Work, P11_AClaimAnnouncesWhatIsLeftOfTheSession) {
    Announcements heard;
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    ASSERT_FALSE(queue_work(activity_item("a", 2, "s")));
    ledger.listen(&heard);

    ASSERT_EQ(fetched_work(as("me")), 1u);
    EXPECT_EQ(heard.items, 1u);
    EXPECT_EQ(heard.owner, "me");
    ASSERT_EQ(fetched_work(as("me")), 2u);
    EXPECT_EQ(heard.items, 1u); // nothing new: the session was its own
    ledger.listen(nullptr);
}

TEST_F(Work, AnOwnerAtItsLimitServesTheSessionsItHoldsAndClaimsNoOther) {
    auto full = as("me");
    ASSERT_FALSE(queue_work(activity_item("a", 1, "mine")));
    ASSERT_EQ(fetched_work(full), 1u);
    full.session->claim_new = false;
    ASSERT_FALSE(queue_work(activity_item("a", 2, "free")));
    ASSERT_FALSE(queue_work(activity_item("a", 3, "mine")));

    EXPECT_EQ(fetched_work(full), 3u);
    EXPECT_EQ(fetched_work(full), 0u);
    pass(30s); // "mine" has expired as well
    EXPECT_EQ(fetched_work(full), 0u);
    EXPECT_EQ(fetched_work(as("you")), 1u);
}

TEST_F(Work, AnItemWhoseLeaseExpiredReturnsToTheOwnerOfItsSession) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    ASSERT_EQ(fetched_work({.lock_timeout = 1s, .session = SessionClaim{"me", 30s}}), 1u);
    pass(1s);

    EXPECT_EQ(fetched_work(as("you")), 0u);
    EXPECT_EQ(fetch_work(as("me"))->attempt_count, 2u);
}

TEST_F(Work, ASessionThatExpiredDoesNotDisturbTheItemThatRuns) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    ASSERT_FALSE(queue_work(activity_item("a", 2, "s")));
    const auto lease = fetch_work({.lock_timeout = 60s, .session = SessionClaim{"me", 10s}});
    pass(10s);

    EXPECT_EQ(fetched_work(as("you")), 2u);
    EXPECT_FALSE(carry_out(finish_work(ledger, lease->lock_token, std::nullopt, now)));
}

TEST_F(Work, AnAbandonedItemKeepsItsPlace) {
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    ASSERT_FALSE(queue_work(activity_item("a", 2)));
    const auto lease = fetch_work({.lock_timeout = 30s});

    ASSERT_FALSE(carry_out(abandon_work(ledger, lease->lock_token, 5s, true, now)));

    EXPECT_EQ(fetched_work({.lock_timeout = 0s}), 2u);
    pass(5s);
    const auto again = fetch_work({.lock_timeout = 30s});
    EXPECT_EQ(again->item.id, 1u);
    EXPECT_EQ(again->attempt_count, 1u);
}

TEST_F(Work, ScheduledAndCancelledInOneTurnNetsToNothing) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));

    ASSERT_FALSE(commit({.lock_token = fetch()->lock_token,
                         .worker_items = {activity_item("a", 5), activity_item("a", 6)},
                         .cancelled_activities = {{"a", 1, 5}, {"a", 1, 99}, {"ghost", 1, 1}}}));

    EXPECT_EQ(fetched_work(), 6u);
    EXPECT_EQ(fetched_work(), 0u);
}

TEST_F(Work, ACancelledActivityLosesItsLease) {
    run_first_turn("a");
    ASSERT_FALSE(queue_work(activity_item("a", 5)));
    ASSERT_FALSE(queue_work(activity_item("a", 5))); // a second copy goes too
    const auto lease = fetch_work({.lock_timeout = 30s});
    ASSERT_FALSE(send(raised_item("a")));

    ASSERT_FALSE(commit(
        {.lock_token = fetch()->lock_token, .cancelled_activities = {{"a", 1, 5}, {"a", 1, 5}}}));

    EXPECT_EQ(renew_work(ledger, lease->lock_token, 30s, now).error().code, ErrorCode::lock_lost);
    EXPECT_EQ(fetched_work(), 0u);
    EXPECT_EQ(queue_depths(ledger, now).worker_queue, 0u);
}

TEST_F(Work, P2_AWrongCompletionIsRefusedAndTheItemStaysLeased) {
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    const auto lease = fetch_work({.lock_timeout = 30s});

    EXPECT_EQ(carry_out(finish_work(ledger, lease->lock_token, raised_item("a"), now)),
              ErrorCode::invalid_argument);

    EXPECT_EQ(fetched_work(), 0u);
    EXPECT_TRUE(renew_work(ledger, lease->lock_token, 30s, now));
}

TEST_F(Work, OnlyActivitiesBelongIntoTheWorkerQueueAndOnlyTheyDoNotIntoTheOther) {
    EXPECT_EQ(queue_work(start_item("a")), ErrorCode::invalid_argument);
    EXPECT_EQ(send(activity_item("a", 1)), ErrorCode::invalid_argument);
    EXPECT_EQ(enqueue_work(ledger, start_item("a"), now).error().operation, "enqueue_for_worker");
    EXPECT_EQ(enqueue_message(ledger, activity_item("a", 1), std::nullopt, now).error().operation,
              "enqueue_for_orchestrator");
    EXPECT_TRUE(records.empty());
}

TEST_F(Work, TheDepthOfAQueueCountsWhatNoLiveLeaseHolds) {
    run_first_turn("a");
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    ASSERT_FALSE(queue_work(activity_item("a", 2)));
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(send(raised_item("a"), 1h));
    ASSERT_TRUE(fetch(30s));
    ASSERT_FALSE(send(raised_item("a"))); // arrives during the turn
    ASSERT_EQ(fetched_work(), 1u);

    EXPECT_EQ(queue_depths(ledger, now).orchestrator_queue, 2u);
    EXPECT_EQ(queue_depths(ledger, now).worker_queue, 1u);
    pass(30s);

    EXPECT_EQ(queue_depths(ledger, now).orchestrator_queue, 3u);
    EXPECT_EQ(queue_depths(ledger, now).worker_queue, 2u);
}

TEST_F(Work, NothingIsLeftOfAnIdThatOnlyAnActivityMentioned) {
    ASSERT_FALSE(queue_work(activity_item("ghost", 1, "s", "gpu")));
    const auto lease = fetch_work(as("me", TagFilter::any()));

    ASSERT_FALSE(carry_out(finish_work(ledger, lease->lock_token, std::nullopt, now)));

    EXPECT_EQ(ledger.instances.find("ghost"), nullptr);
}

} // namespace
} // namespace durable::ledger
