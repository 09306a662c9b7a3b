// Exceptions of others: one whose what() is a null pointer, and what is no std::exception at all,
// fail the orchestration like any other, wherever they are thrown.

#include "replay/fixture.hpp"

#include <exception>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::exceptions_test {

namespace {

class Silent final : public std::exception {
 public:
    [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

constexpr auto silent = "orchestration panicked: an exception without a text";
constexpr auto foreign = "orchestration panicked: an exception that is no std::exception";

Task<std::string> throw_silent(Context) {
    throw Silent{};
    co_return "not reached";
}

Task<std::string> throw_number(Context) {
    throw 42; // NOLINT(hicpp-exception-baseclass): that is the mistake
    co_return "not reached";
}

Task<std::string> throw_silent_later(Context ctx) {
    co_await ctx.call_raw("A", "");
    throw Silent{};
}

Task<std::string> throw_number_later(Context ctx) {
    co_await ctx.call_raw("A", "");
    throw 42; // NOLINT(hicpp-exception-baseclass)
}

std::string text_of(const Outcome<std::string>& outcome) {
    return outcome ? *outcome : outcome.error().kind + ": " + outcome.error().message;
}

TEST(Exceptions, WithoutATextFailTheOrchestration) {
    fresh([](Context, std::string) -> Task<std::string> {
        throw Silent{};
        co_return "";
    }).fails(silent);
}

TEST(Exceptions, OfAnyTypeFailTheOrchestration) {
    fresh([](Context, std::string) -> Task<std::string> {
        throw 42; // NOLINT(hicpp-exception-baseclass)
        co_return "";
    }).fails(foreign);
}

TEST(Exceptions, WithoutATextPassThroughHelpers) {
    given(started(), activity("A"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await throw_silent_later(ctx); },
              completion(2, ""))
        .fails(silent);
}

TEST(Exceptions, OfAnyTypePassThroughHelpersAndCanBeCaught) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::string caught;
                try {
                    caught = co_await throw_number_later(ctx);
                } catch (int number) {
                    caught = std::to_string(number);
                }
                co_return caught;
            },
            completion(2, ""))
        .completes("42");
}

TEST(Exceptions, WithoutATextComeOutOfAll) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto [a, b] = co_await all{throw_silent(ctx), ctx.call_raw("A", "")};
        co_return a + b;
    }).fails(silent);
}

TEST(Exceptions, OfAnyTypeComeOutOfAll) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto [a, b] = co_await all{throw_number(ctx), ctx.call_raw("A", "")};
        co_return a + b;
    }).fails(foreign);
}

TEST(Exceptions, OfAnyTypeAreOutcomesOfAllSettled) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto [a, b] = co_await all_settled{throw_silent(ctx), throw_number(ctx)};
        co_return text_of(a) + "; " + text_of(b);
    })
        .completes("Panicked: an exception without a text; "
                   "Panicked: an exception that is no std::exception");
}

TEST(Exceptions, OfAnyTypeAreOutcomesOfARangeThatIsSettled) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::vector<Task<std::string>> tasks;
        tasks.push_back(throw_silent(ctx));
        tasks.push_back(throw_number(ctx));
        const auto outcomes = co_await all_settled{std::move(tasks)};
        co_return text_of(outcomes[0]) + "; " + text_of(outcomes[1]);
    })
        .completes("Panicked: an exception without a text; "
                   "Panicked: an exception that is no std::exception");
}

TEST(Exceptions, WithoutATextComeOutOfARace) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto first = co_await race{ctx.sleep(60s), throw_silent(ctx)};
        co_return std::to_string(first.index());
    }).fails(silent);
}

TEST(Exceptions, OfAnyTypeComeOutOfARace) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto first = co_await race{ctx.sleep(60s), throw_number(ctx)};
        co_return std::to_string(first.index());
    }).fails(foreign);
}

TEST(Exceptions, WithoutATextComeOutOfWithin) {
    given(started(), timer(start_ms + 1000), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto work = throw_silent_later(ctx);
                const auto value = co_await ctx.within(1s, work);
                co_return value.value_or("late");
            },
            completion(3, ""))
        .fails(silent);
}

TEST(Exceptions, OfAnyTypeComeOutOfWithin) {
    given(started(), timer(start_ms + 1000), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto work = throw_number_later(ctx);
                const auto value = co_await ctx.within(1s, work);
                co_return value.value_or("late");
            },
            completion(3, ""))
        .fails(foreign);
}

} // namespace

} // namespace durable::replay_test::exceptions_test
