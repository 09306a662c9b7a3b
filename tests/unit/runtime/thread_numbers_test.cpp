// How many threads a runtime makes that was not told.

#include "observability/forwarding_provider.hpp"
#include "runtime/node.hpp"

#include <durable/memory.hpp>

#include <memory>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

// A store that likes company.
class Sociable final : public ForwardingProvider {
 public:
    Sociable() : ForwardingProvider{memory::open()} {}
    [[nodiscard]] std::size_t suitable_concurrency() const noexcept override { return 1000; }
};

TEST(ThreadNumbers, ForTurnsAreNotFewerThanTheStoreLikes) {
    const Node node{std::make_shared<Sociable>(), Registry{}, {}};

    EXPECT_EQ(node.options.orchestration_threads, 1000U);
}

TEST(ThreadNumbers, ForActivitiesAreTheSameOnEveryStore) {
    const Node sociable{std::make_shared<Sociable>(), Registry{}, {}};
    const Node other{memory::open(), Registry{}, {}};

    EXPECT_EQ(sociable.options.activity_threads, 64U);
    EXPECT_EQ(other.options.activity_threads, 64U);
}

TEST(ThreadNumbers, AreThoseOfTheOptionsIfTheySaySo) {
    const Node node{std::make_shared<Sociable>(),
                    Registry{},
                    {.orchestration_threads = 3, .activity_threads = 0}};

    EXPECT_EQ(node.options.orchestration_threads, 3U);
    EXPECT_EQ(node.options.activity_threads, 0U);
}

} // namespace
} // namespace durable::runtime
