// The ledger against the contract written down plainly, over random sequences of operations. A seed
// that ever failed stays below as a test of its own.

#include "naive_provider.hpp"

#include <durable/memory.hpp>
#include <durable/model_check.hpp>
#include <durable/validation.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

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

class RandomSequences : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomSequences, TheLedgerAnswersLikeThePlainContract) {
    for (std::uint64_t seed = 0; seed < 10 && !HasFailure(); ++seed) {
        expect_no_difference(testing::naive_provider, GetParam() * 1000 + seed, 200);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSequences, ::testing::Range<std::uint64_t>(1, 11));

class NaiveStores final : public Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override { return testing::naive_provider(clock_); }
    ManualClock* clock() override { return clock_.get(); }
    [[nodiscard]] bool long_polling() const override { return false; }

 private:
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
};

// It neither waits nor tells revisions, and checks no text: of the contract it is the part that
// random sequences play.
TEST(NaiveProvider, KeepsThePromisesItIsAModelOf) {
    constexpr std::array<std::string_view, 14> categories = {"abandon",
                                                             "cancellation",
                                                             "capability_filtering",
                                                             "code",
                                                             "deletion",
                                                             "fairness",
                                                             "kv_store",
                                                             "parked",
                                                             "poison_message",
                                                             "queue_semantics",
                                                             "starting",
                                                             "suspects",
                                                             "tag_filtering",
                                                             "timers"};
    for (const auto& check : checks()) {
        if (std::ranges::find(categories, check.category) != categories.end()) {
            NaiveStores stores;
            const auto verdict = run(check, stores);
            EXPECT_NE(verdict.outcome, Outcome::failed) << check.name << ": " << verdict.message;
        }
    }
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
