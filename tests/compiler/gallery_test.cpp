// Coroutine shapes that compilers have broken, one test each: the values must be right, and every
// object must be destroyed once, also when a suspended frame is destroyed.
//
// The first half holds for every supported compiler. The second half is what g++ 12 miscompiles:
// docs/determinism.md tells users, tools/check_awaits.py rejects it in what they copy.

#include "compiler/stage.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::compiler_test {

namespace {

struct Order { // an aggregate with a destructor
    int id = 0;
    Tracked item;
};

struct Options { // a trivial aggregate
    int attempts = 1;
    std::string_view tag;
};

class Gallery : public ::testing::Test {
 protected:
    void SetUp() override { Tracked::live = Tracked::damaged = 0; }
    void TearDown() override {
        EXPECT_EQ(Tracked::live, 0);
        EXPECT_EQ(Tracked::damaged, 0);
        EXPECT_TRUE(paused().empty());
    }

    // The same shape, destroyed at each of its first pauses.
    template <class MakeTask>
    void evict_at_every_pause(MakeTask make, int pauses) {
        for (int i = 1; i <= pauses; ++i) {
            stage.evict(make(), i);
            EXPECT_EQ(Tracked::live, 0) << "destroyed at pause " << i;
        }
    }

    Stage stage;
};

Task<std::string> text_of(Tracked value) {
    const int nothing = co_await pause(0);
    co_return value.text() + std::to_string(nothing);
}

Task<std::string> id_of(Order order) {
    const int more = co_await pause(1);
    co_return order.item.text() + std::to_string(order.id + more);
}

Task<Order> make_order(int id) {
    Order made{.id = id, .item = Tracked{"made"}};
    made.id += co_await pause(1);
    co_return made;
}

Task<std::unique_ptr<Tracked>> make_unique_tracked() {
    auto made = std::make_unique<Tracked>("unique");
    co_await pause(0);
    co_return made;
}

Task<std::vector<Tracked>> make_many() {
    std::vector<Tracked> many(3);
    co_await pause(0);
    co_return many;
}

Task<int> fails_after_a_pause() {
    const Tracked held;
    co_await pause(0);
    throw std::runtime_error{"broken " + held.text()};
}

Task<int> attempts_of(Options options) {
    const int more = co_await pause(1);
    co_return options.attempts + more;
}

// ---- For every compiler

TEST_F(Gallery, TemporariesWithConstructorsInTheAwait) {
    const auto shape = []() -> Task<std::string> {
        const auto first = co_await text_of(Tracked{"a"});
        const auto second = co_await text_of(Tracked{first + "b"});
        co_return second;
    };
    EXPECT_EQ(stage.finish(shape()), "a0b0");
    evict_at_every_pause(shape, 2);
}

TEST_F(Gallery, TrivialAggregatesInTheAwait) {
    const auto shape = []() -> Task<int> {
        const int got = co_await attempts_of({.attempts = 4, .tag = "gpu"});
        co_return got;
    };
    EXPECT_EQ(stage.finish(shape()), 5);
}

TEST_F(Gallery, NamedAggregates) {
    const auto shape = []() -> Task<std::string> {
        Order order{.id = 1, .item = Tracked{"named"}};
        const auto copied = co_await id_of(order);
        const auto moved = co_await id_of(std::move(order));
        co_return copied + moved;
    };
    EXPECT_EQ(stage.finish(shape()), "named2named2");
    evict_at_every_pause(shape, 2);
}

TEST_F(Gallery, MadeFirstAwaitedLater) {
    const auto shape = []() -> Task<std::string> {
        auto task = id_of(Order{.id = 1, .item = Tracked{"early"}});
        const Tracked between;
        const auto got = co_await task;
        co_return got + between.text();
    };
    EXPECT_EQ(stage.finish(shape()), "early2tracked");
    evict_at_every_pause(shape, 1);
}

TEST_F(Gallery, AggregatesAsResults) {
    const auto shape = []() -> Task<std::string> {
        const auto order = co_await make_order(1);
        auto [id, item] = co_await make_order(5);
        co_return item.text() + std::to_string(order.id + id);
    };
    EXPECT_EQ(stage.finish(shape()), "made8");
    evict_at_every_pause(shape, 2);
}

TEST_F(Gallery, MoveOnlyResults) {
    const auto shape = []() -> Task<std::string> {
        const auto first = co_await make_unique_tracked();
        const auto second = co_await make_unique_tracked();
        co_return first->text() + second->text();
    };
    EXPECT_EQ(stage.finish(shape()), "uniqueunique");
    evict_at_every_pause(shape, 2);
}

TEST_F(Gallery, LoopsOverAnAwaitedRange) {
    const auto shape = []() -> Task<std::string> {
        std::string all;
        for (const auto& each : co_await make_many()) {
            const auto more = co_await pause(std::string{"+"});
            all += each.text() + more;
        }
        co_return all;
    };
    EXPECT_EQ(stage.finish(shape()), "tracked+tracked+tracked+");
    evict_at_every_pause(shape, 4);
}

TEST_F(Gallery, NestedAndAddedAwaits) {
    const auto shape = []() -> Task<std::string> {
        const auto nested = co_await text_of(Tracked{co_await text_of(Tracked{"in"})});
        const auto sum = co_await text_of(Tracked{"l"}) + co_await text_of(Tracked{"r"});
        co_return nested + sum;
    };
    EXPECT_EQ(stage.finish(shape()), "in00l0r0");
    evict_at_every_pause(shape, 4);
}

TEST_F(Gallery, ExceptionsThroughAwaits) {
    const auto shape = []() -> Task<std::string> {
        const Tracked outer;
        std::string said;
        try {
            const int never = co_await fails_after_a_pause();
            said = std::to_string(never);
        } catch (const std::runtime_error& error) {
            said = error.what();
        }
        const auto after = co_await text_of(Tracked{said});
        co_return after;
    };
    EXPECT_EQ(stage.finish(shape()), "broken tracked0");
    evict_at_every_pause(shape, 2);

    EXPECT_THROW(static_cast<void>(stage.finish(fails_after_a_pause())), std::runtime_error);
}

TEST_F(Gallery, NamedLambdasWithCaptures) {
    const auto shape = []() -> Task<std::string> {
        const Tracked captured{"captured"};
        const auto later = [captured](std::string more) -> Task<std::string> {
            const auto text = co_await pause(captured.text());
            co_return text + more;
        };
        const auto got = co_await later("!");
        co_return got;
    };
    EXPECT_EQ(stage.finish(shape()), "captured!");
    evict_at_every_pause(shape, 1);
}

TEST_F(Gallery, ConditionsOnNamedResults) {
    const auto shape = [](int rounds) -> Task<int> {
        int done = 0;
        while (done < rounds) {
            const Tracked inside;
            const int step = co_await pause(1);
            if (const int more = co_await pause(step); more > 0) {
                done += more;
            }
        }
        co_return done;
    };
    EXPECT_EQ(stage.finish(shape(3)), 3);
    evict_at_every_pause([&] { return shape(3); }, 6);
}

TEST_F(Gallery, ReturningAnAwait) {
    const auto shape = []() -> Task<std::string> { co_return co_await text_of(Tracked{"tail"}); };
    EXPECT_EQ(stage.finish(shape()), "tail0");
    evict_at_every_pause(shape, 1);
}

// ---- Not for g++ 12

#if defined(__clang__) || !defined(__GNUC__) || __GNUC__ >= 13

TEST_F(Gallery, AggregateTemporariesInTheAwait) {
    const auto shape = []() -> Task<std::string> {
        const auto got = co_await id_of(Order{.id = 1, .item = Tracked{"temporary"}});
        co_return got;
    };
    EXPECT_EQ(stage.finish(shape()), "temporary2");
    evict_at_every_pause(shape, 1);
}

TEST_F(Gallery, AggregatesMadeOfAwaits) {
    const auto shape = []() -> Task<std::string> {
        const Order order{.id = co_await pause(1), .item = Tracked{co_await text_of(Tracked{})}};
        co_return order.item.text() + std::to_string(order.id);
    };
    EXPECT_EQ(stage.finish(shape()), "tracked01");
    evict_at_every_pause(shape, 2);
}

TEST_F(Gallery, ConditionalOperatorsOfClassType) {
    const auto shape = [](bool first) -> Task<std::string> {
        const std::string other = "other";
        const auto got = first ? co_await text_of(Tracked{"first"}) : other;
        co_return got;
    };
    EXPECT_EQ(stage.finish(shape(true)), "first0");
    EXPECT_EQ(stage.finish(shape(false)), "other");
}

TEST_F(Gallery, CapturingLambdasInTheAwait) {
    const auto call = [](std::function<std::string()> code) -> Task<std::string> {
        const int nothing = co_await pause(0);
        co_return code() + std::to_string(nothing);
    };
    const auto shape = [&call]() -> Task<std::string> {
        const Tracked captured{"captured"};
        const auto got = co_await call([captured] { return captured.text(); });
        co_return got;
    };
    EXPECT_EQ(stage.finish(shape()), "captured0");
    evict_at_every_pause(shape, 1);
}

Task<std::string> without_locals() {
    if (co_await pause(1) == 1) {
        co_return "then";
    }
    co_return "else";
}

TEST_F(Gallery, AnAwaitedConditionWithoutALocalVariable) {
    EXPECT_EQ(stage.finish(without_locals()), "then");
}

#endif

} // namespace

} // namespace durable::compiler_test
