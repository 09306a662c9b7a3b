// The model checker itself: it finds differences, shrinks them, and is the same with the same seed.
// tests/files_store/model_test.cpp holds the ledger against the store that is written plainly.

#include <durable/memory.hpp>
#include <durable/model_check.hpp>
#include <durable/validation.hpp>

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

namespace durable::validation {
namespace {

class MemoryStores final : public Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override { return memory::open({.clock = clock_}); }
    ManualClock* clock() override { return clock_.get(); }

 private:
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
};

void expect_no_difference(const Oracle& oracle, std::uint64_t seed, std::size_t operations) {
    MemoryStores stores;
    const auto found =
        model_check(stores, oracle, {.seed = seed, .operations = operations}).value();
    EXPECT_FALSE(found) << found->text();
}

TEST(ModelCheck, AStoreEqualsItsOwnOracle) {
    expect_no_difference(memory_oracle(), 1, 300);
}

TEST(ModelCheck, TheSameSeedGivesTheSameVerdict) {
    const auto other_clock = std::make_shared<ManualClock>();
    const Oracle deaf = [&](const std::shared_ptr<Clock>&) {
        return memory::open({.clock = other_clock}); // never sees time pass
    };
    MemoryStores stores;

    const auto first = model_check(stores, deaf, {.seed = 7}).value();
    const auto second = model_check(stores, deaf, {.seed = 7}).value();

    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(first->script.size(), second->script.size());
}

// An oracle whose clock stands still disagrees as soon as time matters: passing time and one call
// that sees it are enough, so that is what a good shrinker must arrive at.
TEST(ModelCheck, ADifferenceIsShrunkToAShortScript) {
    const auto other_clock = std::make_shared<ManualClock>();
    const Oracle deaf = [&](const std::shared_ptr<Clock>&) {
        return memory::open({.clock = other_clock});
    };
    MemoryStores stores;

    const auto found = model_check(stores, deaf, {.seed = 7, .operations = 300}).value();

    ASSERT_TRUE(found);
    EXPECT_LE(found->script.size(), 8u) << found->text();
}

TEST(ModelCheck, AStoreWithoutAManualClockIsRefused) {
    class RealTime final : public Factory {
        Result<std::shared_ptr<Provider>> create() override { return memory::open(); }
    } factory;

    const auto answer = model_check(factory, memory_oracle(), {});

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::unsupported);
}

} // namespace
} // namespace durable::validation
