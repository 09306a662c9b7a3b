// The fuzzer's oracle in the everyday suite, on every compiler: a fixed number of mutations of the
// corpus from a fixed seed.

#include "fuzz/codec_oracle.hpp"
#include "fuzz/mutator.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fuzz {

namespace {

std::vector<std::string> corpus() {
    std::vector<std::string> texts;
    for (const auto& file : std::filesystem::directory_iterator{DURABLE_CORPUS_DIR}) {
        std::ifstream stream{file.path(), std::ios::binary};
        texts.emplace_back(std::istreambuf_iterator{stream}, std::istreambuf_iterator<char>{});
    }
    std::ranges::sort(texts); // directories have no order, the seed needs one
    return texts;
}

TEST(CodecFuzz, TheCorpusHoldsEveryGoldenLine) {
    const auto texts = corpus();

    for (const auto& file : std::filesystem::recursive_directory_iterator{DURABLE_GOLDEN_DIR}) {
        std::ifstream stream{file.path()};
        for (std::string line; file.is_regular_file() && std::getline(stream, line);) {
            EXPECT_TRUE(std::ranges::binary_search(texts, line)) << file.path() << ": " << line;
        }
    }
}

TEST(CodecFuzz, TheCorpusKeepsItsPromises) {
    for (const std::string& text : corpus()) {
        EXPECT_EQ(codec_complaint(text), std::nullopt) << text;
    }
}

TEST(CodecFuzz, MutationsKeepThePromises) {
    constexpr int mutations = 200'000;
    Mutator mutator{corpus(), 20'260'101};
    int accepted = 0;

    for (int index = 0; index < mutations; ++index) {
        const std::string text = mutator.next();
        ASSERT_EQ(codec_complaint(text), std::nullopt) << "mutation " << index << ": " << text;
        accepted += decode_event(text) || decode_work_item(text) || decode_error_details(text);
    }

    // If almost nothing is accepted, the comparison of meanings compares almost nothing.
    EXPECT_GT(accepted, mutations / 20);
}

} // namespace

} // namespace durable::fuzz
