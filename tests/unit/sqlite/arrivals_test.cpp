// Messages for instances that already have messages: stored in the order of arrival, sorted by the
// next reader. No reader, of any process, sees a difference.

#include "unit/sqlite/sqlite_fixture.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;
using Rows = std::vector<std::string>;

class SqliteArrivals : public SqliteTest {
 protected:
    void SetUp() override {
        store = open();
        make_running(*store, "A");
        make_running(*store, "B");
    }
    static void raise(Provider& by, const std::string& instance, const std::string& data) {
        ASSERT_TRUE(by.enqueue_for_orchestrator(
            work::ExternalRaised{.instance = instance, .name = "go", .data = data}, std::nullopt));
    }
    // How many were put down and not sorted.
    std::string put_down() { return Outsider{path}.query("SELECT count(*) FROM arrivals").at(0); }
    struct Turn {
        std::string token;
        std::string events; // instance: data of each
    };
    static std::optional<Turn> next_turn(Provider& of) {
        const auto item = of.fetch_orchestration_item({.lock_timeout = 60s}).value();
        if (!item) {
            return std::nullopt;
        }
        Turn turn{.token = item->lock_token, .events = item->instance + ":"};
        for (const auto& message : item->messages) {
            turn.events += " " + std::get<work::ExternalRaised>(message).data;
        }
        return turn;
    }
    static void end(Provider& of, const Turn& turn) {
        ASSERT_TRUE(of.ack_orchestration_item({.lock_token = turn.token}));
    }

    std::shared_ptr<SqliteProvider> store;
};

TEST_F(SqliteArrivals, AreDeliveredToTheirInstancesInTheirOrder) {
    for (const auto* data : {"1", "2", "3", "4"}) {
        raise(*store, "A", data);
        raise(*store, "B", data);
    }
    ASSERT_EQ(put_down(), "4") << "the first of each makes it ready, the second makes it known";

    const auto first = next_turn(*store);
    const auto second = next_turn(*store);

    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->events, "A: 1 2 3 4");
    EXPECT_EQ(second->events, "B: 1 2 3 4");
    EXPECT_EQ(put_down(), "0");
    EXPECT_FALSE(next_turn(*store));
}

TEST_F(SqliteArrivals, DuringATurnBelongToTheNextOne) {
    raise(*store, "A", "1");
    const auto first = next_turn(*store);
    ASSERT_TRUE(first);
    for (const auto* data : {"2", "3", "4"}) {
        raise(*store, "A", data);
    }
    ASSERT_EQ(put_down(), "2");

    end(*store, *first);
    const auto second = next_turn(*store);

    ASSERT_TRUE(second);
    EXPECT_EQ(first->events, "A: 1");
    EXPECT_EQ(second->events, "A: 2 3 4");
    end(*store, *second);
    EXPECT_FALSE(next_turn(*store));
}

TEST_F(SqliteArrivals, DuringATurnMakeTheNextOneAlsoIfNothingElseDoes) {
    raise(*store, "A", "1");
    const auto first = next_turn(*store);
    ASSERT_TRUE(first);
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "A", .name = "go", .data = "9"}, Duration{5000}));
    raise(*store, "A", "2");
    ASSERT_EQ(put_down(), "1");

    end(*store, *first);
    const auto second = next_turn(*store);

    ASSERT_TRUE(second);
    EXPECT_EQ(second->events, "A: 2");
}

TEST_F(SqliteArrivals, OfOneProcessAreFoundByAnother) {
    const auto other = open();
    for (int round = 0; round < 3; ++round) { // each of them learns of the other's every time
        const auto data = [&](int number) { return std::to_string(round * 10 + number); };
        for (const auto number : {1, 2, 3, 4}) {
            raise(*store, "A", data(number));
        }
        for (const auto number : {5, 6, 7}) {
            raise(*other, "A", data(number));
        }
        ASSERT_EQ(put_down(), "4");

        const auto& fetcher = round % 2 == 0 ? other : store;
        const auto turn = next_turn(*fetcher);

        ASSERT_TRUE(turn);
        std::string all = "A:";
        for (const auto number : {1, 2, 3, 4, 5, 6, 7}) {
            all += " " + data(number);
        }
        EXPECT_EQ(turn->events, all);
        end(*fetcher, *turn);
        EXPECT_FALSE(next_turn(*store));
        EXPECT_FALSE(next_turn(*other));
    }
}

TEST_F(SqliteArrivals, SurviveTheirProcess) {
    for (const auto* data : {"1", "2", "3"}) {
        raise(*store, "A", data);
    }
    ASSERT_EQ(put_down(), "1");
    store.reset();

    const auto turn = next_turn(*open());

    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->events, "A: 1 2 3");
}

TEST_F(SqliteArrivals, AreCountedAndShown) {
    for (const auto* data : {"1", "2", "3"}) {
        raise(*store, "A", data);
    }
    ASSERT_EQ(put_down(), "1");

    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue, 3U);
    EXPECT_EQ(Outsider{path}.query("SELECT instance_id, state, attempts FROM durable_pending"
                                   " ORDER BY seq"),
              (Rows{"A|ready|0", "A|ready|0", "A|ready|0"}));
}

TEST_F(SqliteArrivals, GoWithTheirInstance) {
    for (const auto* data : {"1", "2", "3"}) {
        raise(*store, "A", data);
        raise(*store, "B", data);
    }
    ASSERT_EQ(put_down(), "2");

    EXPECT_EQ(store->delete_instance("A", true).value().queue_messages_deleted, 3U);

    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue, 3U);
    const auto turn = next_turn(*store);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->events, "B: 1 2 3");
    EXPECT_FALSE(next_turn(*store));
}

// What a timer fires and what starts an instance is looked for by what it says.
TEST_F(SqliteArrivals, AreNeitherStartsNorTimersNorWhatIsDueLater) {
    raise(*store, "A", "1");
    raise(*store, "A", "2");

    ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::TimerFired{.instance = "A", .execution_id = 1, .id = 7, .fire_at_ms = 0},
        std::nullopt));
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "A", .name = "go", .data = "3"}, Duration{5000}));

    EXPECT_EQ(put_down(), "0");
    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue, 5U);
}

// Others have sorted nearly all that this one knows of: it reads anew what is left, and misses
// nothing.
TEST_F(SqliteArrivals, OfWhichManyAreGoneAreReadAnew) {
    constexpr int many = 4200; // more than are remembered in vain
    const auto other = open();
    raise(*store, "B", "0");
    const auto held = next_turn(*store); // it knows all there are from now on
    ASSERT_TRUE(held);
    for (const auto* data : {"1", "2", "3"}) {
        raise(*store, "B", data);
    }
    for (int number = 0; number < many; ++number) {
        raise(*store, "A", std::to_string(number));
    }
    const auto all = next_turn(*other);
    ASSERT_TRUE(all);
    end(*other, *all);
    for (const auto* data : {"1", "2", "3"}) {
        raise(*other, "A", data);
    }
    raise(*store, "A", "4");

    const auto turn = next_turn(*store);

    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->events, "A: 1 2 3 4");
    end(*store, *held);
    const auto rest = next_turn(*store);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->events, "B: 1 2 3");
}

} // namespace
} // namespace durable::sqlite
