// Who syncs the journal, for whom, and when: many threads, few syncs, and nothing left behind.

#include "unit/fs/journal_fixture.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

class JournalSyncTest : public JournalTest {
 protected:
    // So many threads append so many records each, and wait for every one of them.
    void append_at_once(int threads, int each) {
        std::vector<std::jthread> running;
        for (int t = 0; t < threads; ++t) {
            running.emplace_back([this, each] {
                for (int i = 0; i < each; ++i) {
                    const auto lsn = append("x");
                    ASSERT_TRUE(lsn);
                    ASSERT_TRUE(journal_->ensure_durable(*lsn));
                    ASSERT_GE(journal_->durable(), *lsn);
                }
            });
        }
    }
};

// The writer thread never rests here, so that leading, following and handing over all meet.
TEST_F(JournalSyncTest, ManyThreadsShareSyncsAndLoseNothing) {
    open({.writer_thread = true, .longest_unsynced = std::chrono::milliseconds{0}});
    constexpr int threads = 8;
    constexpr int each = 200;
    append_at_once(threads, each);

    crash(simulation::Survival::nothing);
    open();

    EXPECT_EQ(seen_.size(), static_cast<std::size_t>(threads * each));
}

// A single waiter leads the next round itself; no waiter is left asleep however the two meet.
TEST_F(JournalSyncTest, TwoThreadsTakeTurnsLeading) {
    open({.writer_thread = true});
    constexpr int each = 1000;
    append_at_once(2, each);
    EXPECT_EQ(journal_->last(), 2U * each);
}

TEST_F(JournalSyncTest, WhatNobodyWaitsForIsSyncedSoon) {
    open({.writer_thread = true});

    ASSERT_TRUE(append("x"));
    while (journal_->durable() < 1) {
        std::this_thread::yield();
    }

    EXPECT_EQ(journal_->durable(), 1U);
}

// With these options the wait for a follow-up never times out, and the writer thread does not sync
// by itself.
const JournalOptions patient{.writer_thread = true,
                             .longest_unsynced = std::chrono::hours{1},
                             .longest_follow_up = std::chrono::hours{1}};

TEST_F(JournalSyncTest, OneSyncServesACauseAndItsEffect) {
    open(patient);
    ASSERT_TRUE(append("cause"));
    const auto before = disk_.syncs();
    {
        std::atomic<bool> begun = false;
        const std::jthread first{[&] {
            begun = true;
            journal_->wait_for_follow_up(1);
            EXPECT_TRUE(journal_->ensure_durable(1));
        }};
        // Leaves it a moment to sync although it should not.
        for (int look = 0; look < 2000 || !begun; ++look) {
            std::this_thread::yield();
        }
        EXPECT_EQ(journal_->durable(), 0U);
        ASSERT_TRUE(append("effect"));
        ASSERT_TRUE(journal_->ensure_durable(2));
    }
    EXPECT_EQ(disk_.syncs(), before + 1);
}

TEST_F(JournalSyncTest, TheWaitForAFollowUpEndsWhenItIsThere) {
    open(patient);
    ASSERT_TRUE(append("cause"));
    ASSERT_TRUE(append("effect"));

    journal_->followed_up(2);
    journal_->wait_for_follow_up(1);
    ASSERT_TRUE(journal_->ensure_durable(1));

    EXPECT_EQ(journal_->durable(), 2U);
}

TEST_F(JournalSyncTest, TheWaitForAFollowUpTimesOut) {
    auto options = patient;
    options.longest_follow_up = std::chrono::microseconds{1};
    open(options);
    ASSERT_TRUE(append("cause"));

    journal_->wait_for_follow_up(1);

    EXPECT_EQ(journal_->durable(), 0U);
    EXPECT_TRUE(journal_->ensure_durable(1));
}

// Here the writer thread goes to sleep after some looks, and is woken by the next record.
TEST_F(JournalSyncTest, WhatNobodyWaitsForIsSyncedHoweverTheWriterRests) {
    open({.writer_thread = true, .longest_unsynced = std::chrono::milliseconds{0}});

    for (Lsn lsn = 1; lsn <= 20; ++lsn) {
        ASSERT_TRUE(append("x"));
        while (journal_->durable() < lsn) {
            std::this_thread::yield();
        }
        for (int look = 0; look < 500; ++look) {
            std::this_thread::yield();
        }
    }

    EXPECT_EQ(journal_->durable(), 20U);
}

// As those do who sleep until something ends: the sync wakes them, and once only.
class JournalBellTest : public JournalSyncTest {
 protected:
    // Appends, has itself called when that is durable, and waits for the call as long as it takes.
    Result<> append_and_listen(std::atomic<int>& called_later) {
        const auto signal = std::make_shared<Signal>();
        {
            const std::scoped_lock in_order{order_};
            const auto lsn = append("x");
            if (!lsn) {
                return std::unexpected{lsn.error()};
            }
            if (!journal_->set_once_durable(*lsn, signal)) {
                signal->set();
            } else {
                ++called_later;
            }
        }
        signal->wait(Duration::max());
        return journal_->ensure_durable(journal_->last());
    }

 private:
    std::mutex order_; // the store's
};

TEST_F(JournalBellTest, WhoListensIsCalledHoweverTheRoundsMeet) {
    open({.writer_thread = true});
    std::atomic<int> called_later{0};
    {
        std::vector<std::jthread> running;
        for (int t = 0; t < 6; ++t) {
            running.emplace_back([&] {
                while (called_later < 300) { // a sync has to be in progress for it
                    ASSERT_TRUE(append_and_listen(called_later));
                }
            });
        }
    }
    EXPECT_EQ(journal_->durable(), journal_->last());
}

TEST_F(JournalBellTest, NobodyIsKeptWaitingForASyncThatNobodyMakes) {
    open({.writer_thread = false});
    ASSERT_TRUE(append("x"));

    EXPECT_FALSE(journal_->set_once_durable(1, std::make_shared<Signal>()));
}

TEST_F(JournalBellTest, AFailedSyncCallsWhoListens) {
    open({.writer_thread = true});
    disk_.set_fault_rates({.sync_error = 100});
    std::atomic<int> called_later{0};
    {
        std::vector<std::jthread> running;
        for (int t = 0; t < 6; ++t) {
            running.emplace_back([&] {
                while (append_and_listen(called_later)) {
                }
            });
        }
    }
    EXPECT_EQ(journal_->failure()->code, ErrorCode::storage_failed);
}

TEST_F(JournalSyncTest, AFailedSyncReleasesEveryWaiter) {
    open({.writer_thread = true});
    ASSERT_TRUE(append("x"));
    ASSERT_TRUE(journal_->ensure_durable(1));
    disk_.set_fault_rates({.sync_error = 1000});
    {
        std::vector<std::jthread> running;
        for (int t = 0; t < 8; ++t) {
            running.emplace_back([&] {
                const auto lsn = append("y");
                EXPECT_FALSE(lsn && journal_->ensure_durable(*lsn));
            });
        }
    }
    EXPECT_EQ(journal_->failure()->code, ErrorCode::storage_failed);
}

} // namespace
} // namespace durable::fs
