// The provider that a runtime measures its store with: the same answers, and a metric for each.

#include "observability/metered_provider.hpp"
#include "observability/observer.hpp"

#include <durable/memory.hpp>
#include <durable/metrics.hpp>
#include <durable/provider_admin.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace durable::observability {
namespace {

using namespace std::chrono_literals;

struct MeteredProviderTest : ::testing::Test {
    [[nodiscard]] double calls(std::string_view operation, std::string_view status) const {
        return recorder->value("durable_provider_operation_duration_seconds",
                               std::array{operation, status});
    }

    const std::shared_ptr<MetricsRecorder> recorder = std::make_shared<MetricsRecorder>();
    const Observer observer{system_clock(), {.logger = {}, .metrics = recorder, .tracer = {}}};
    const std::shared_ptr<Provider> provider = metered(memory::open(), observer);
    const work::StartOrchestration start{.instance = "a", .orchestration = "Hello"};
};

TEST_F(MeteredProviderTest, GivesTheAnswersOfTheStoreAndMeasuresEachCall) {
    ASSERT_TRUE(provider->start_instance(start, std::nullopt));
    const auto item = provider->fetch_orchestration_item({.lock_timeout = 5s}).value();

    ASSERT_TRUE(item);
    EXPECT_EQ(item->instance, "a");
    EXPECT_EQ(
        provider->renew_leases(
            {{.of = LeaseRenewal::Of::turn, .lock_token = item->lock_token, .extend_for = 5s}}),
        std::vector<std::string>{});
    EXPECT_EQ(calls("operation=start_instance", "status=success"), 1);
    EXPECT_EQ(calls("operation=fetch_orchestration_item", "status=success"), 1);
    EXPECT_EQ(calls("operation=renew_leases", "status=success"), 1);
    EXPECT_EQ(calls("operation=ack_orchestration_item", "status=success"), 0);
}

TEST_F(MeteredProviderTest, CountsErrorsByTheirCode) {
    ASSERT_TRUE(provider->start_instance(start, std::nullopt));
    ASSERT_FALSE(provider->start_instance(start, std::nullopt));
    ASSERT_FALSE(provider->ack_orchestration_item({.lock_token = "none"}));

    EXPECT_EQ(calls("operation=ack_orchestration_item", "status=error"), 1);
    EXPECT_EQ(recorder->value("durable_provider_errors_total",
                              std::array<std::string_view, 2>{"operation=ack_orchestration_item",
                                                              "error_code=lock_lost"}),
              1);
    EXPECT_EQ(recorder->value("durable_provider_errors_total",
                              std::array<std::string_view, 1>{"operation=start_instance"}),
              1);
}

TEST_F(MeteredProviderTest, PassesTheManagementHalfThrough) {
    ASSERT_TRUE(provider->start_instance(start, std::nullopt));
    auto* const admin = provider->as_management_capability();

    ASSERT_NE(admin, nullptr);
    EXPECT_EQ(admin->list_instances(), std::vector<std::string>{"a"});
}

} // namespace
} // namespace durable::observability
