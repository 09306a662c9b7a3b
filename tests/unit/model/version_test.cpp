#include <durable/version.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

namespace durable {

namespace {

TEST(Version, IsThreeNumbers) {
    EXPECT_EQ(Version::parse("1.2.3"), (Version{.major = 1, .minor = 2, .patch = 3}));
    EXPECT_EQ(Version::parse("0.0.0"), Version{});
    EXPECT_EQ(Version::parse("10.200.3000"), (Version{.major = 10, .minor = 200, .patch = 3000}));
    EXPECT_EQ(Version::parse("18446744073709551615.0.0"), (Version{.major = UINT64_MAX}));
}

TEST(Version, IsNothingElse) {
    for (const std::string_view text : {"",
                                        "1",
                                        "1.2",
                                        "1.2.",
                                        "1.2.3.4",
                                        ".1.2",
                                        "1..3",
                                        "01.2.3",
                                        "1.02.3",
                                        "1.2.03",
                                        "1.2.3-a",
                                        "1.2.3+b",
                                        " 1.2.3",
                                        "1.2.3 ",
                                        "v1.2.3",
                                        "+1.2.3",
                                        "-1.2.3",
                                        "1.-2.3",
                                        "1.2.x",
                                        "1.2.3\n",
                                        "a",
                                        "1,2,3",
                                        "1.2.3.",
                                        "00.0.0",
                                        "18446744073709551616.0.0",
                                        "1.99999999999999999999.0"}) {
        EXPECT_EQ(Version::parse(text), std::nullopt) << text;
    }
    EXPECT_EQ(Version::parse(std::string_view{"1.2.3\0", 6}), std::nullopt);
}

TEST(Version, IsWrittenAsItIsRead) {
    EXPECT_EQ(Version::parse("1.20.300").value().text(), "1.20.300");
    EXPECT_EQ(Version::parse(engine_version_text()), engine_version());
}

TEST(Version, IsOrderedByNumbersNotByText) {
    EXPECT_LT(Version::parse("1.9.0"), Version::parse("1.10.0"));
    EXPECT_LT(Version::parse("1.10.9"), Version::parse("2.0.0"));
    EXPECT_LT(Version::parse("0.0.9"), Version::parse("0.0.10"));
}

TEST(VersionRange, ContainsBothEnds) {
    const VersionRange range{.min = {.major = 1}, .max = {.major = 1, .minor = 5, .patch = 2}};

    EXPECT_TRUE(range.contains(range.min));
    EXPECT_TRUE(range.contains(range.max));
    EXPECT_TRUE(range.contains({.major = 1, .minor = 5, .patch = 1}));
    EXPECT_FALSE(range.contains({.major = 0, .minor = 99, .patch = 99}));
    EXPECT_FALSE(range.contains({.major = 1, .minor = 5, .patch = 3}));
}

} // namespace

} // namespace durable
