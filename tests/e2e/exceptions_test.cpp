// Exceptions that have no text, or are no std::exception, are failures like any other: of
// activities, of children, of the user's own encoders.

#include "e2e/e2e.hpp"

#include <exception>

namespace durable::e2e::exceptions_test {

namespace {

class Silent final : public std::exception {
 public:
    [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

struct Unwritable {
    int how = 0; // 0: without a text, 1: no std::exception
};

[[noreturn]] void refuse(int how) {
    if (how == 0) {
        throw Silent{};
    }
    throw 42; // NOLINT(hicpp-exception-baseclass): that is the mistake
}

} // namespace

} // namespace durable::e2e::exceptions_test

template <>
struct durable::Codec<durable::e2e::exceptions_test::Unwritable> {
    using Value = durable::e2e::exceptions_test::Unwritable;
    static std::string encode(const Value& value) {
        durable::e2e::exceptions_test::refuse(value.how);
    }
    static Value decode(std::string_view text) {
        durable::e2e::exceptions_test::refuse(text == "0" ? 0 : 1);
    }
};

namespace durable::e2e::exceptions_test {

namespace {

DURABLE_E2E_SUITE(Exceptions);

using Text = std::string;

constexpr Activity<Text(int)> break_down{"BreakDown"};
constexpr Activity<Text(Unwritable)> take{"Take"};
constexpr Orchestration<Text(int)> parent{"Parent"};
constexpr Orchestration<Text(int)> child{"Child"};
constexpr Orchestration<Text(Unwritable)> strange{"Strange"};

Text fail_somehow(int how) {
    refuse(how);
}

Task<Text> fail_as_asked(Context, int how) {
    refuse(how);
    co_return "";
}

Task<Text> call_activity(Context ctx, int how) {
    const auto outcome = co_await ctx.call(break_down, how).as_result();
    co_return outcome.error().kind + ": " + outcome.error().message;
}

Task<Text> retry_activity(Context ctx, int how) {
    co_return co_await ctx.call(break_down, how, {.retry = {.max_attempts = 2}});
}

Task<Text> call_child(Context ctx, int how) {
    const auto outcome = co_await ctx.call(child, how, {.id = "c"}).as_result();
    co_return outcome.error().kind + ": " + outcome.error().message;
}

TEST_P(Exceptions, OfAnActivityNeedNoText) {
    registry.add(break_down, fail_somehow).add(parent, call_activity);
    start(parent, 0, {.id = "a"});

    EXPECT_EQ(output("a"), "ActivityFailed: an exception without a text");
}

TEST_P(Exceptions, OfAnActivityMayBeOfAnyType) {
    registry.add(break_down, fail_somehow).add(parent, call_activity);
    start(parent, 1, {.id = "a"});

    EXPECT_EQ(output("a"), "ActivityFailed: the activity threw something unknown");
}

TEST_P(Exceptions, WithoutATextAreRetried) {
    registry.add(break_down, fail_somehow).add(parent, retry_activity);
    start(parent, 0, {.id = "a"});

    EXPECT_EQ(failure("a"), "activity 'BreakDown' failed: an exception without a text");
    EXPECT_EQ(count<history::ActivityFailed>(history("a")), 2u);
}

TEST_P(Exceptions, OfAChildReachItsParentWithoutAText) {
    registry.add(child, fail_as_asked).add(parent, call_child);
    start(parent, 0, {.id = "a"});

    EXPECT_EQ(output("a"), "Panicked: orchestration panicked: an exception without a text");
}

TEST_P(Exceptions, OfAChildReachItsParentWhateverTheirType) {
    registry.add(child, fail_as_asked).add(parent, call_child);
    start(parent, 1, {.id = "a"});

    EXPECT_EQ(output("a"),
              "Panicked: orchestration panicked: an exception that is no std::exception");
}

TEST_P(Exceptions, OfAnEncoderAreErrorsOfTheClient) {
    const auto silent = client.start(strange, {.how = 0}, {.id = "a"});
    const auto foreign = client.start(strange, {.how = 1}, {.id = "a"});

    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(silent.error().message, "the value has no payload text: an exception without a text");
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().message,
              "the value has no payload text: an exception that is no std::exception");
}

TEST_P(Exceptions, OfADecoderFailTheOrchestrationOrTheCall) {
    registry.add(strange, [](Context, Unwritable) -> Task<Text> { co_return ""; });
    registry.add(take, [](const Unwritable&) { return Text{}; });
    registry.add(parent, [](Context ctx, int how) -> Task<Text> {
        const auto text = std::to_string(how);
        const auto outcome = co_await ctx.call_raw("Take", text).as_result();
        co_return outcome.error().kind + ": " + outcome.error().message;
    });
    ASSERT_TRUE(client.start("Strange", "0", {.id = "a"}));
    ASSERT_TRUE(client.start("Strange", "1", {.id = "b"}));
    start(parent, 0, {.id = "c"});
    start(parent, 1, {.id = "d"});

    EXPECT_EQ(failure("a"), "cannot read the payload: an exception without a text");
    EXPECT_EQ(failure("b"), "cannot read the payload: an exception that is no std::exception");
    EXPECT_EQ(output("c"), "BadPayload: cannot read the payload: an exception without a text");
    EXPECT_EQ(output("d"),
              "BadPayload: cannot read the payload: an exception that is no std::exception");
}

} // namespace

} // namespace durable::e2e::exceptions_test
