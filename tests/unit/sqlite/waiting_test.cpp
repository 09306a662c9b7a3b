// Who is called for what, where the order of things matters that threads alone would not keep.

#include "providers/sqlite/concurrency/waiting.hpp"

#include <durable/time.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteWaiting : public ::testing::Test {
 protected:
    SqliteWaiting() { tx.outlook.work = {.wall = Due::never, .steady = Due::never}; }
    void wait_for_sleepers(std::size_t number) const {
        while (waiting.asleep() < number) {
            std::this_thread::yield();
        }
    }
    // A fetch that calls `look()` at each look, and takes what is in `ready` or is handed fresh
    // work. Nothing, if it is told to stop or waits for many seconds: there is no last look that
    // would find work for which it was not called.
    template <class Looking>
    std::optional<std::string> fetch(Looking&& look,
                                     std::optional<std::stop_token> stop = {},
                                     TagFilter tags = TagFilter::default_only()) {
        const FetchWork request{.poll_timeout = 1h,
                                .tags = std::move(tags),
                                .stop = stop.value_or(too_late.get_token())};
        return waiting
            .fetch<std::string>(
                request,
                [&](auto announce, auto change) -> Result<> {
                    announce();
                    look();
                    return change(tx);
                },
                [&](Transaction&) {
                    auto taken = std::exchange(ready, std::nullopt);
                    if (const auto hook = std::exchange(after_take, nullptr)) {
                        hook();
                    }
                    return taken;
                },
                [](Transaction&, FreshWork& fresh) { return std::optional{fresh.work.text}; })
            .value();
    }

    // Hands fresh work to a suitable waiter, in the transaction under way.
    void hand_over_fresh() {
        const rules::NewWork work{.activity = {}, .text = "fresh"};
        const WorkNeeds needs{.tag = {}, .name = "Greet"};
        FreshWork fresh{.seq = 1, .work = work, .needs = needs};
        EXPECT_TRUE(waiting.take(tx, fresh));
    }
    void tell_of_work() {
        News news;
        news.work.emplace_back();
        waiting.committed(news);
    }

    Waiting waiting{system_clock(), [] {}};
    std::unique_ptr<Connection> connection = Connection::open(":memory:", {.create = true}).value();
    Backlogs backlogs;
    Arrivals arrivals;
    Suspects suspects;
    Transaction tx{.db = *connection,
                   .random = *system_random(),
                   .backlogs = backlogs,
                   .arrivals = arrivals,
                   .suspects = suspects};
    std::optional<std::string> ready;
    std::function<void()> after_take; // called once, after a fetch has tried to take what was ready
    std::stop_source too_late;
    std::jthread patience{[this](const std::stop_token& test_is_over) {
        std::mutex mutex;
        std::unique_lock lock{mutex};
        std::condition_variable_any().wait_for(lock, test_is_over, 20s, [] { return false; });
        too_late.request_stop();
    }};
};

TEST_F(SqliteWaiting, WhoIsCalledForSomethingAndGetsWhatIsFreshCallsAnother) {
    std::optional<std::string> first;
    std::optional<std::string> second;
    std::atomic<int> looks = 0;
    {
        const std::jthread one{[&] {
            first = fetch([&] {
                if (++looks == 2) { // it was called, but is handed other work first
                    hand_over_fresh();
                }
            });
        }};
        wait_for_sleepers(1);
        const std::jthread other{[&] { second = fetch([] {}); }};
        wait_for_sleepers(2);

        ready = "old";
        tell_of_work();
    }
    EXPECT_EQ(first, "fresh");
    EXPECT_EQ(second, "old");
}

TEST_F(SqliteWaiting, ACallIsPassedOnToOneWhoMayTakeWhatItIsFor) {
    std::optional<std::string> first;
    std::optional<std::string> third;
    std::atomic<int> looks = 0;
    std::stop_source over;
    {
        const std::jthread one{[&] {
            first = fetch([&] {
                if (++looks == 2) {
                    hand_over_fresh();
                }
            });
        }};
        wait_for_sleepers(1);
        const std::jthread for_others{[&] {
            EXPECT_FALSE(fetch([] {}, over.get_token(), TagFilter::tags({"gpu"}).value()));
        }};
        wait_for_sleepers(2);
        const std::jthread like_the_first{[&] {
            third = fetch([] {});
            over.request_stop();
        }};
        wait_for_sleepers(3);

        ready = "old";
        tell_of_work();
    }
    EXPECT_EQ(first, "fresh");
    EXPECT_EQ(third, "old");
}

TEST_F(SqliteWaiting, WhoIsCalledAndTakesWhatOthersMayNotCallsThose) {
    std::optional<std::string> first;
    std::optional<std::string> second;
    {
        const std::jthread one{
            [&] { first = fetch([] {}, {}, TagFilter::default_and({"gpu"}).value()); }};
        wait_for_sleepers(1);
        const std::jthread other{[&] { second = fetch([] {}); }};
        wait_for_sleepers(2);

        ready = "older, for gpus";
        after_take = [&] { ready = "what it was called for"; };
        tell_of_work();
    }
    EXPECT_EQ(first, "older, for gpus");
    EXPECT_EQ(second, "what it was called for");
}

// In real time: time moved by hand wakes everybody.
TEST_F(SqliteWaiting, WhatFallsDueIsLookedForByTheOneWhoIsLeft) {
    std::optional<std::string> got;
    {
        std::jthread left;
        EXPECT_EQ(fetch([&] {
                      left = std::jthread{[&] { got = fetch([] {}); }};
                      wait_for_sleepers(1);
                      ready = "old";
                      News news;
                      news.work_due = 30ms;
                      waiting.committed(news); // this one is looking: it would wake up by then
                      hand_over_fresh();
                  }),
                  "fresh");
    }
    EXPECT_EQ(got, "old");
}

// In real time: time moved by hand wakes everybody.
TEST_F(SqliteWaiting, WhatFallsDueIsLookedForThoughWhoWouldHaveLookedGotSomethingElse) {
    std::optional<std::string> by_another;
    std::optional<std::string> by_itself;
    std::stop_source over;
    const std::stop_callback on_too_late{too_late.get_token(), [&] { over.request_stop(); }};
    {
        std::jthread another;
        const auto got = fetch([&] {
            another = std::jthread{[&] {
                by_another = fetch([] {}, over.get_token());
                over.request_stop();
            }};
            wait_for_sleepers(1);
            ready = "old";
            News news;
            news.work_due = 30ms;
            waiting.committed(news); // this one is looking, so no other waiter sets its timer
            hand_over_fresh();
        });
        EXPECT_EQ(got, "fresh");
        by_itself = fetch([] {}, over.get_token());
        over.request_stop();
    }
    EXPECT_TRUE((by_another == "old") != (by_itself == "old"));
}

// While another thread's transaction tries to get something for it, and gets nothing.
TEST_F(SqliteWaiting, WhoGetsNothingThoughItWasChosenFollowsACallThatCameMeanwhile) {
    std::optional<std::string> got;
    {
        const std::jthread one{[&] { got = fetch([] {}); }};
        wait_for_sleepers(1);
        after_take = [&] {
            ready = "old";
            tell_of_work();
        };
        tx.news.work.emplace_back();
        waiting.before_commit(tx);
    }
    EXPECT_EQ(got, "old");
}

TEST_F(SqliteWaiting, WhoGetsNothingThoughItWasChosenLooksWhenSomethingFallsDue) {
    std::optional<std::string> got;
    {
        const std::jthread one{[&] { got = fetch([] {}); }};
        wait_for_sleepers(1);
        after_take = [&] {
            ready = "old";
            News news;
            news.work_due = 30ms;
            waiting.committed(news);
        };
        tx.news.work.emplace_back();
        waiting.before_commit(tx);
    }
    EXPECT_EQ(got, "old");
}

} // namespace
} // namespace durable::sqlite
