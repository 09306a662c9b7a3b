// Groups of one operand, also when that is a group.

#include "replay/fixture.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::groups_test {

namespace {

// What a template or a generated program writes: one operand is a group too.
Task<std::string> groups_of_one(Context ctx, std::string) {
    auto [a] = co_await all{ctx.call_raw("A", "")};
    auto [b] = co_await all_settled{ctx.call_raw("B", "")};
    auto c = co_await race{ctx.call_raw("C", "")};
    co_return a + b.value() + std::get<0>(c);
}

TEST(Groups, MayHaveOneOperand) {
    given(started(),
          activity("A"),
          completed(2, "a"),
          activity("B"),
          completed(4, "b"),
          activity("C"))
        .when(groups_of_one, completion(6, "c"))
        .completes("abc");
}

// A group of one group of its own kind is a group, not a copy of what it holds.
TEST(Groups, MayHoldOneGroupOfTheirOwnKind) {
    given(started(),
          activity("A"),
          completed(2, "a"),
          activity("B"),
          completed(4, "b"),
          activity("C"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [inner] = co_await all{all{ctx.call_raw("A", "")}};
                auto [settled] = co_await all_settled{all_settled{ctx.call_raw("B", "")}};
                auto first = co_await race{race{ctx.call_raw("C", "")}};
                const auto& [b] = settled.value();
                co_return std::get<0>(inner) + b.value() + std::get<0>(std::get<0>(first));
            },
            completion(6, "c"))
        .completes("abc");
}

TEST(Groups, MayBorrowOneGroupOfTheirOwnKind) {
    given(started(), activity("A"), activity("B"), completed(2, "a"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<std::string>> calls;
                calls.push_back(ctx.call_raw("A", ""));
                calls.push_back(ctx.call_raw("B", ""));
                auto both = all{std::move(calls)};
                auto [values] = co_await all{both};
                co_return values.at(0) + values.at(1);
            },
            completion(3, "b"))
        .completes("ab");
}

} // namespace

} // namespace durable::replay_test::groups_test
