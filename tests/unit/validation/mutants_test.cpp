// Proof that the validation kit bites: providers that break one promise each are caught by the
// sentences named beside them, and a provider that keeps them all is caught by none.

#include "unit/validation/mutant.hpp"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::validation {
namespace {

const Check* find_check(const std::string& name) {
    const auto found = std::ranges::find(checks(), name, &Check::name);
    return found == checks().end() ? nullptr : &*found;
}

std::vector<Defect> all_defects() {
    std::vector<Defect> all;
    for (auto& defects : {commit_defects(),
                          delivery_defects(),
                          waiting_defects(),
                          state_defects(),
                          store_defects(),
                          size_defects(),
                          code_defects(),
                          starting_defects()}) {
        all.insert(all.end(), defects.begin(), defects.end());
    }
    return all;
}

class BrokenProvider : public ::testing::TestWithParam<Defect> {};

TEST_P(BrokenProvider, IsCaught) {
    for (const auto& name : GetParam().caught_by) {
        const auto* check = find_check(name);
        ASSERT_NE(check, nullptr) << "no check is named " << name;
        const auto factory = GetParam().make();
        const auto verdict = run(*check, *factory);
        EXPECT_EQ(verdict.outcome, Outcome::failed) << name << " lets it pass " << verdict.message;
    }
}

INSTANTIATE_TEST_SUITE_P(Kit,
                         BrokenProvider,
                         ::testing::ValuesIn(all_defects()),
                         [](const auto& each) { return each.param.name; });

std::string failures(Factory& factory) {
    std::string failed;
    for (const auto& check : checks()) {
        const auto verdict = run(check, factory);
        if (verdict.outcome == Outcome::failed) {
            failed += std::string{check.name} + ": " + verdict.message + "\n";
        }
    }
    return failed;
}

TEST(SoundProvider, PassesEveryCheckThroughADecorator) {
    MutantFactory<Mutant> unbroken;
    EXPECT_EQ(failures(unbroken), "");
}

TEST(SoundProvider, PassesEveryCheckReopenedBeforeEveryCall) {
    KeepingFactory keeping;
    const auto reopening = reopening_factory(keeping);
    EXPECT_EQ(failures(*reopening), "");
}

} // namespace
} // namespace durable::validation
