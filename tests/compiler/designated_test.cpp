// Users who compile with -Wextra may name the members they need and no others: every struct that is
// filled in that way has a value for each member.

#include <durable/durable.hpp>
#include <durable/metrics.hpp>
#include <durable/sqlite.hpp>
#include <durable/test_runtime.hpp>

#include <gtest/gtest.h>

#pragma GCC diagnostic error "-Wmissing-field-initializers"

namespace durable::compiler_test {
namespace {

TEST(DesignatedInitialisers, NameTheMembersThatAreNeeded) {
    const sqlite::Options store{.synchronous = sqlite::Synchronous::normal};
    const TestRuntime::Options runtime{.max_steps = 5};
    const PruneOptions prune{.keep_last = 2};
    const InstanceFilter filter{.limit = 5};
    const OperationFailed failed{{.message = "no funds"}};
    const MetricInfo metric{.name = "my_total"};
    const Error error{.message = "text"};
    const fs::Options directory{.readable_views = true};
    const memory::Options memory{.unstarted_message_ttl = std::chrono::hours{1}};

    EXPECT_EQ(store.clock, nullptr);
    EXPECT_EQ(runtime.provider, nullptr);
    EXPECT_FALSE(prune.completed_before);
    EXPECT_FALSE(filter.instance_ids);
    EXPECT_EQ(failed.failure().kind, "");
    EXPECT_EQ(metric.index, 0U);
    EXPECT_EQ(error.operation, "");
    EXPECT_EQ(directory.clock, nullptr);
    EXPECT_EQ(memory.clock, nullptr);
}

} // namespace
} // namespace durable::compiler_test
