// The checks of validation.hpp as GoogleTest cases. In the test of a provider:
//
//     const bool registered = durable::validation::register_with_gtest(
//         "MyStore", [] { return std::make_unique<MyFactory>(); });
//
// gives one case per check, MyStore_atomicity.test_concurrent_ack_prevention and so on. Link
// GTest::gtest_main and durable::validation.

#pragma once

#include <durable/validation.hpp>

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace durable::validation {

using MakeFactory = std::function<std::unique_ptr<Factory>()>;

namespace detail {

class CheckCase final : public ::testing::Test {
 public:
    CheckCase(const Check& check, MakeFactory make) : check_{check}, make_{std::move(make)} {}

 private:
    void TestBody() override {
        const auto factory = make_();
        const auto verdict = run(check_, *factory);
        if (verdict.outcome == Outcome::skipped) {
            GTEST_SKIP() << verdict.message;
        }
        EXPECT_EQ(verdict.outcome, Outcome::passed) << check_.promise << ": " << verdict.message;
    }

    const Check& check_;
    MakeFactory make_;
};

} // namespace detail

// Call it before RUN_ALL_TESTS. Every case makes a factory of its own. `only` names one category,
// `except` one that is left out; empty: all. Returns true.
inline bool register_with_gtest(const std::string& suite,
                                const MakeFactory& make,
                                std::string_view only = {},
                                std::string_view except = {},
                                std::source_location where = std::source_location::current()) {
    for (const auto& check : checks()) {
        if ((!only.empty() && check.category != only) ||
            (!except.empty() && check.category == except)) {
            continue;
        }
        const auto category = suite + "_" + std::string{check.category};
        ::testing::RegisterTest(
            category.c_str(),
            std::string{check.name}.c_str(),
            nullptr,
            nullptr,
            where.file_name(),
            static_cast<int>(where.line()),
            [&check, make]() -> ::testing::Test* { return new detail::CheckCase{check, make}; });
    }
    return true;
}

} // namespace durable::validation
