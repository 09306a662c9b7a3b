// The SQLite provider against the ledger, over random sequences of operations. A seed that ever
// failed stays as a test.

#include "unit/cli/sqlite_stores.hpp"

#include <durable/model_check.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace durable::sqlite {
namespace {

class SqliteRandomSequences : public ::testing::TestWithParam<std::uint64_t> {
 protected:
    template <class Stores>
    static void expect_no_difference(bool reopen, std::uint64_t seeds) {
        for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
            Stores stores;
            const auto found = validation::model_check(
                stores,
                validation::memory_oracle(),
                {.seed = GetParam() * 1000 + seed, .operations = 200, .reopen = reopen});
            ASSERT_TRUE(found) << found.error().text();
            EXPECT_FALSE(*found) << (*found)->text();
        }
    }
};

TEST_P(SqliteRandomSequences, AnswerLikeTheLedger) {
    expect_no_difference<MemoryStores>(false, 5);
}

TEST_P(SqliteRandomSequences, AnswerLikeTheLedgerWhenTheFileIsReopened) {
    expect_no_difference<FileStores>(true, 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SqliteRandomSequences, ::testing::Range<std::uint64_t>(1, 5));

} // namespace
} // namespace durable::sqlite
