// The framework that checks are written with: every end of a check becomes a verdict.

#include "validation/support/expect.hpp"

#include <durable/validation.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::validation {
namespace {

class NoStores final : public Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override {
        return fail(ErrorCode::unavailable, "no stores here");
    }
};

Verdict verdict_of(void (*body)(Factory&)) {
    NoStores factory;
    return run({.name = "name", .category = "category", .promise = "P1", .run = body}, factory);
}

TEST(Run, PassesACheckThatReturns) {
    EXPECT_EQ(verdict_of([](Factory&) { expect(true, "truth"); }).outcome, Outcome::passed);
}

TEST(Run, ReportsLineSentenceAndBothValues) {
    const auto verdict = verdict_of([](Factory&) { expect_eq(std::size_t{2}, 3, "two is three"); });

    EXPECT_EQ(verdict.outcome, Outcome::failed);
    EXPECT_TRUE(verdict.message.starts_with("run_test.cpp:")) << verdict.message;
    EXPECT_TRUE(verdict.message.ends_with("two is three; expected 3, got 2")) << verdict.message;
}

TEST(Run, ReportsTheErrorOfACallThatMustSucceed) {
    const auto verdict =
        verdict_of([](Factory& factory) { std::ignore = value_of(factory.create()); });

    EXPECT_EQ(verdict.outcome, Outcome::failed);
    EXPECT_NE(verdict.message.find("unavailable (no stores here)"), std::string::npos)
        << verdict.message;
}

TEST(Run, ReportsWhichErrorWasExpected) {
    const auto verdict = verdict_of([](Factory& factory) {
        expect_error(factory.create(), ErrorCode::lock_lost, "a lost lease is told");
    });

    EXPECT_NE(verdict.message.find("expected error lock_lost, got error unavailable"),
              std::string::npos)
        << verdict.message;
}

TEST(Run, SkipsACheckWhoseHookIsNotOffered) {
    const auto verdict = verdict_of([](Factory& factory) { need(factory.corrupt_history("A")); });

    EXPECT_EQ(verdict.outcome, Outcome::skipped);
    EXPECT_EQ(verdict.message, "no access to stored events");
}

TEST(Run, FailsACheckThatLetsAnExceptionEscape) {
    const auto known = verdict_of([](Factory&) { throw std::logic_error{"surprise"}; });
    const auto unknown = verdict_of([](Factory&) { throw 42; });

    EXPECT_EQ(known.outcome, Outcome::failed);
    EXPECT_EQ(known.message, "an exception escaped the provider: surprise");
    EXPECT_EQ(unknown.outcome, Outcome::failed);
}

TEST(AllAtOnce, RunsEveryBodyAndBringsAFailureHome) {
    static std::atomic<int> ran = 0;
    const auto verdict = verdict_of([](Factory&) {
        all_at_once(8, [](std::size_t index) {
            ++ran;
            expect(index != 5, "no body is the sixth");
        });
    });

    EXPECT_EQ(ran.load(), 8);
    EXPECT_EQ(verdict.outcome, Outcome::failed);
}

TEST(Checks, HaveUniqueNamesAndCiteAPromise) {
    std::set<std::string_view> names;
    for (const auto& check : checks()) {
        EXPECT_TRUE(names.insert(check.name).second) << check.name << " is listed twice";
        EXPECT_TRUE(check.promise.starts_with("P")) << check.name;
        EXPECT_FALSE(check.category.empty()) << check.name;
        EXPECT_NE(check.run, nullptr) << check.name;
    }
}

TEST(Show, PrintsWhatMessagesNeed) {
    EXPECT_EQ(show(std::optional<std::string>{"a"}), "\"a\"");
    EXPECT_EQ(show(std::optional<int>{}), "nothing");
    EXPECT_EQ(show(std::vector<std::string>{"a", "b"}), R"(["a", "b"])");
    EXPECT_EQ(show(KvSnapshot{{"k", {.value = "v", .last_updated_at_ms = 7}}}),
              R"(["k": "v" of 7])");
    EXPECT_EQ(show(ErrorCode::corrupt), "corrupt");
}

} // namespace
} // namespace durable::validation
