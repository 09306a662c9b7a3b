#include "observability/call_counters.hpp"

#include <durable/instrumented.hpp>
#include <durable/memory.hpp>
#include <durable/provider_admin.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

struct InstrumentedProviderTest : ::testing::Test {
    InstrumentedProvider provider{memory::open()};

    static WorkItem start_of(const std::string& instance) {
        return work::StartOrchestration{.instance = instance, .orchestration = "Hello"};
    }
};

TEST_F(InstrumentedProviderTest, CountsCallsAndKeepsTheirAnswers) {
    ASSERT_TRUE(provider.enqueue_for_orchestrator(start_of("a"), std::nullopt));
    ASSERT_TRUE(provider.enqueue_for_orchestrator(start_of("b"), std::nullopt));

    const auto item = provider.fetch_orchestration_item({.lock_timeout = 5s}).value();

    ASSERT_TRUE(item);
    EXPECT_EQ(item->instance, "a");
    EXPECT_EQ(provider.of("enqueue_for_orchestrator").calls, 2u);
    EXPECT_EQ(provider.of("fetch_orchestration_item").calls, 1u);
    EXPECT_EQ(provider.of("ack_orchestration_item").calls, 0u);
}

TEST_F(InstrumentedProviderTest, CountsErrorsByTheirCode) {
    ASSERT_FALSE(provider.ack_orchestration_item({.lock_token = "none"}));
    ASSERT_FALSE(provider.enqueue_for_worker(start_of("a")));

    EXPECT_EQ(provider.of("ack_orchestration_item").errors_of(ErrorCode::lock_lost), 1u);
    EXPECT_EQ(provider.of("ack_orchestration_item").errors, 1u);
    EXPECT_EQ(provider.of("enqueue_for_worker").errors_of(ErrorCode::invalid_argument), 1u);
    EXPECT_EQ(provider.of("enqueue_for_worker").errors_of(ErrorCode::lock_lost), 0u);
}

TEST(CallNames, EveryCallOfTheContractHasOneOfItsOwn) {
    std::set<std::string_view> names;
    for (std::size_t call = 0; call < call_count; ++call) {
        names.insert(name_of(static_cast<Call>(call)));
    }

    EXPECT_EQ(names.size(), 41u);
    EXPECT_FALSE(names.contains(""));
    EXPECT_EQ(name_of(Call::start_instance), "start_instance");
    EXPECT_EQ(name_of(Call::list_parked), "list_parked");
}

TEST_F(InstrumentedProviderTest, CountsStartsAndThoseThatCameTooLate) {
    const work::StartOrchestration start{.instance = "a", .orchestration = "Hello"};

    ASSERT_TRUE(provider.start_instance(start, std::nullopt));
    ASSERT_FALSE(provider.start_instance(start, std::nullopt));

    EXPECT_EQ(provider.of("start_instance").calls, 2u);
    EXPECT_EQ(provider.of("start_instance").errors_of(ErrorCode::already_exists), 1u);
    EXPECT_EQ(provider.of("enqueue_for_orchestrator").calls, 0u);
}

TEST_F(InstrumentedProviderTest, WatchesTheManagementHalfToo) {
    ASSERT_TRUE(provider.as_management_capability()->list_instances());
    ASSERT_FALSE(provider.as_management_capability()->get_instance_info("nobody"));
    ASSERT_TRUE(provider.as_management_capability()->list_parked(0ms, 10));

    EXPECT_EQ(provider.of("list_instances").calls, 1u);
    EXPECT_EQ(provider.of("list_parked").calls, 1u);
    EXPECT_EQ(provider.of("get_instance_info").errors_of(ErrorCode::not_found), 1u);
}

TEST_F(InstrumentedProviderTest, EveryCallIsInOneBucketAndWithinTheLongest) {
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(provider.enqueue_for_orchestrator(start_of("a"), std::nullopt));
    }

    const auto calls = provider.of("enqueue_for_orchestrator");

    std::uint64_t counted = 0;
    for (const auto bucket : calls.histogram) {
        counted += bucket;
    }
    EXPECT_EQ(counted, 100u);
    EXPECT_GT(calls.total, 0ns);
    EXPECT_LE(calls.mean(), calls.longest);
    EXPECT_LE(calls.quantile(0.5), calls.quantile(0.99));
    EXPECT_EQ(calls.quantile(1.0), calls.longest);
}

TEST_F(InstrumentedProviderTest, ListsWhatWasCalledAndForgetsOnReset) {
    ASSERT_TRUE(provider.read("a"));
    ASSERT_TRUE(provider.get_kv_value("a", "k"));

    ASSERT_EQ(provider.snapshot().size(), 2u);
    EXPECT_EQ(provider.snapshot().at(0).operation, "read");
    EXPECT_EQ(provider.snapshot().at(1).operation, "get_kv_value");
    provider.reset();
    EXPECT_TRUE(provider.snapshot().empty());
}

TEST_F(InstrumentedProviderTest, LosesNoCallOfManyThreads) {
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int call = 0; call < 1000; ++call) {
                    ASSERT_TRUE(provider.read("a"));
                }
            });
        }
    }

    EXPECT_EQ(provider.of("read").calls, 4000u);
}

} // namespace
} // namespace durable
