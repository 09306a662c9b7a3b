// The ledger, with all its indexes, against the store of examples/providers/files, which has none
// and reads every file anew: over random sequences of calls both give the same answers. They have
// not a line in common. A seed that ever failed stays as a test of its own.

#include "files_store/files_stores.hpp"

#include <durable/model_check.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace files_store {
namespace {

class FilesRandomSequences : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FilesRandomSequences, TheLedgerAnswersLikeThePlainFiles) {
    for (std::uint64_t seed = 0; seed < 3 && !HasFailure(); ++seed) {
        FilesStores stores;
        const auto found =
            durable::validation::model_check(stores,
                                             durable::validation::memory_oracle(),
                                             {.seed = GetParam() * 1000 + seed, .operations = 200})
                .value();
        EXPECT_FALSE(found) << found->text();
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FilesRandomSequences, ::testing::Range<std::uint64_t>(1, 11));

} // namespace
} // namespace files_store
