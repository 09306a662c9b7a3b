// The filesystem provider against the ledger alone, over random sequences of operations: what is
// kept on disk and read back makes no difference. A seed that ever failed stays as a test.

#include "unit/cli/fs_stores.hpp"

#include <durable/model_check.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

class FsRandomSequences : public ::testing::TestWithParam<std::uint64_t> {
 protected:
    static void expect_no_difference(bool reopen) {
        for (std::uint64_t seed = 0; seed < 10 && !HasFailure(); ++seed) {
            SimStores stores;
            const auto found = validation::model_check(
                stores,
                validation::memory_oracle(),
                {.seed = GetParam() * 1000 + seed, .operations = 200, .reopen = reopen});
            ASSERT_TRUE(found) << found.error().text();
            EXPECT_FALSE(*found) << (*found)->text();
        }
    }
};

TEST_P(FsRandomSequences, AnswerLikeTheLedger) {
    expect_no_difference(false);
}

TEST_P(FsRandomSequences, AnswerLikeTheLedgerWhenTheStoreIsReopened) {
    expect_no_difference(true);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FsRandomSequences, ::testing::Range<std::uint64_t>(1, 6));

} // namespace
} // namespace durable::fs
