#include "model/wire_names.hpp"
#include "unit/model/golden.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace durable {

namespace {

TEST(GoldenFiles, EveryLineComesBackByteForByte) {
    for (const golden::Line& line : golden::lines()) {
        const Result<std::string> again = golden::through_codec(line.shape, line.text);

        ASSERT_TRUE(again) << line.file << ": " << again.error().text() << '\n' << line.text;
        EXPECT_EQ(*again, line.text) << line.file;
    }
}

TEST(GoldenFiles, EveryKindHasOne) {
    const auto has_file = [](std::string_view directory, std::string_view name) {
        const auto path = std::filesystem::path{DURABLE_GOLDEN_DIR} / directory;
        return std::filesystem::exists(path / (std::string{name} + ".jsonl"));
    };

    for (const std::string_view name : wire::event_names) {
        EXPECT_TRUE(has_file("events", name)) << name;
    }
    for (const std::string_view name : wire::item_names) {
        EXPECT_TRUE(has_file("work_items", name)) << name;
    }
    for (const std::string_view name : wire::details_names) {
        EXPECT_TRUE(has_file("errors", name)) << name;
    }
}

} // namespace

} // namespace durable
