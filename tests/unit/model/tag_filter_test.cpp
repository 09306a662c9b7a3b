#include <durable/provider.hpp>

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable {

namespace {

struct Answers {
    bool untagged;
    bool listed;
    bool other;
    bool operator==(const Answers&) const = default;
};

Answers answers_of(const TagFilter& filter) {
    return {.untagged = filter.matches(std::nullopt),
            .listed = filter.matches("gpu") && filter.matches("eu"),
            .other = filter.matches("other") || filter.matches("")};
}

TEST(TagFilter, MatchesByItsMode) {
    const std::vector<std::string> tags = {"gpu", "eu"};

    EXPECT_EQ(answers_of(TagFilter::default_only()), (Answers{true, false, false}));
    EXPECT_EQ(answers_of(TagFilter::tags(tags).value()), (Answers{false, true, false}));
    EXPECT_EQ(answers_of(TagFilter::default_and(tags).value()), (Answers{true, true, false}));
    EXPECT_EQ(answers_of(TagFilter::any()), (Answers{true, true, true}));
    EXPECT_EQ(answers_of(TagFilter::none()), (Answers{false, false, false}));
}

TEST(TagFilter, TakesUntaggedItemsByDefault) {
    EXPECT_EQ(TagFilter{}, TagFilter::default_only());
}

TEST(TagFilter, AnEmptyTagIsATag) {
    EXPECT_FALSE(TagFilter::default_only().matches(""));
    EXPECT_TRUE(TagFilter::tags({""}).value().matches(""));
}

TEST(TagFilter, ListsOneToFiveTags) {
    const std::vector<std::string> five = {"a", "b", "c", "d", "e"};
    const std::vector<std::string> six = {"a", "b", "c", "d", "e", "f"};

    EXPECT_TRUE(TagFilter::tags(five));
    EXPECT_EQ(TagFilter::tags({}).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(TagFilter::tags({}).error().message, "a tag filter requires at least one tag");
    EXPECT_EQ(TagFilter::default_and(six).error().message,
              "a tag filter takes at most 5 tags, not 6");
}

TEST(TagFilter, CountsATagOnce) {
    const auto filter = TagFilter::tags({"b", "a", "b", "a", "b", "a"});

    EXPECT_EQ(filter.value().listed(), (std::vector<std::string>{"a", "b"}));
}

} // namespace

} // namespace durable
