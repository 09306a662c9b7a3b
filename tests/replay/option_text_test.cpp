// Options may be kept in variables and made by helpers, whatever their texts were made of.

#include "replay/fixture.hpp"

#include <durable/options.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::option_text_test {

namespace {

CallOptions of_customer(const std::string& customer) {
    CallOptions options;
    options.session = "the session of customer " + customer; // a temporary
    return options;
}

// Overwrites what a dangling text would point to.
void disturb_memory() {
    const std::vector<std::string> heap(64, std::string(64, '#'));
    ASSERT_EQ(heap.back().back(), '#');
}

Task<std::string> options_of_a_helper(Context ctx, std::string) {
    const auto options = of_customer("number 1234567");
    co_await ctx.sleep(1s);
    disturb_memory();
    co_return co_await ctx.call_raw("A", "", options);
}

TEST(OptionText, OfAHelpersTemporaryIsKeptWhileTheOrchestrationWaits) {
    given(started(), timer(start_ms + 1'000))
        .when(options_of_a_helper, timer_fires(2))
        .then({"3 TimerFired <-2",
               "4 ActivityScheduled A() session=the session of customer number 1234567"})
        .runs_on();
}

Task<std::string> child_id_in_a_variable(Context ctx, std::string input) {
    const ChildOptions options{.id = "a child of this instance: " + input};
    disturb_memory();
    co_return co_await ctx.call_child_raw("Child", "", options);
}

TEST(OptionText, OfATemporaryInAVariableIsKept) {
    fresh(child_id_in_a_variable)
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 SubOrchestrationScheduled Child() as a child of this instance: test-input"})
        .runs_on();
}

TEST(OptionText, MadeOutsideOfOrchestrationsIsKeptOnce) {
    std::string text = "a tag that is longer than a small string";
    const OptionText first{text};
    const OptionText second{text};
    text.assign(text.size(), '#');

    EXPECT_EQ(first, "a tag that is longer than a small string");
    EXPECT_EQ(std::string_view{first}.data(), std::string_view{second}.data());
}

TEST(OptionText, OfALiteralStaysWhereItIs) {
    static constexpr CallOptions constant{.tag = "gpu"};
    static constexpr char literal[] = "a tag that is longer than a small string";

    EXPECT_EQ(constant.tag, "gpu");
    EXPECT_EQ(std::string_view{OptionText{literal}}.data(), static_cast<const char*>(literal));
}

TEST(OptionText, OfABufferIsCopied) {
    char buffer[] = "worker 1";
    const OptionText text{buffer};
    buffer[7] = '2';

    EXPECT_EQ(text, "worker 1");
    EXPECT_TRUE(OptionText{""}.empty());
    EXPECT_TRUE(OptionText{std::string{}}.empty());
}

} // namespace

} // namespace durable::replay_test::option_text_test
