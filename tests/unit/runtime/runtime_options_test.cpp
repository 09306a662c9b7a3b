#include <durable/runtime_options.hpp>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

std::string complaint(const RuntimeOptions& options) {
    const auto valid = validate(options);
    return valid ? "" : valid.error().message;
}

TEST(RuntimeOptions, TheDefaultsAreValid) {
    EXPECT_EQ(complaint({}), "");
}

TEST(RuntimeOptions, TheDefaultsAreTheDocumentedOnes) {
    const RuntimeOptions options;

    EXPECT_EQ(options.orchestrator_lock_timeout, 5s);
    EXPECT_EQ(options.orchestrator_lock_renewal_buffer, 2s);
    EXPECT_EQ(options.worker_lock_timeout, 30s);
    EXPECT_EQ(options.worker_lock_renewal_buffer, 5s);
    EXPECT_EQ(options.max_attempts, 10u);
    EXPECT_EQ(options.limits.kv_keys, 150u);
    EXPECT_EQ(options.limits.kv_value_bytes, 65536u);
    EXPECT_EQ(options.limits.custom_status_bytes, 262144u);
}

TEST(RuntimeOptions, AComplaintNamesTheFieldAndItsValue) {
    EXPECT_EQ(complaint({.worker_lock_timeout = 0s}),
              "RuntimeOptions::worker_lock_timeout must be positive, not 0 ms");
    EXPECT_EQ(complaint({.max_attempts = 0}), "RuntimeOptions::max_attempts must be at least 1");
    EXPECT_EQ(complaint({.worker_node_id = ""}),
              "RuntimeOptions::worker_node_id must not be empty");
    EXPECT_EQ(complaint({.unregistered_backoff = {.base = 10s, .max = 1s}}),
              "RuntimeOptions::unregistered_backoff.max must not be less than its base");
    EXPECT_EQ(complaint({.supported_replay_versions =
                             VersionRange{.min = {.major = 2}, .max = {.major = 1}}}),
              "RuntimeOptions::supported_replay_versions is empty: 2.0.0 to 1.0.0");
    EXPECT_EQ(complaint({.limits = {.kv_keys = 0}}),
              "RuntimeOptions::limits.kv_keys must be at least 1");
    EXPECT_EQ(complaint({.gauge_poll_interval = -1s}),
              "RuntimeOptions::gauge_poll_interval must be positive, not -1000 ms");
}

// Doubling 0 gives 0: a parked instance would be retried without a pause, for ever.
TEST(RuntimeOptions, ParkingNeedsAPause) {
    EXPECT_EQ(complaint({.park_backoff = {.base = 0s, .max = 0s}}),
              "RuntimeOptions::park_backoff.base must be positive, not 0 ms");
    EXPECT_EQ(complaint({.park_backoff = {.base = 0s, .max = 5s}}),
              "RuntimeOptions::park_backoff.base must be positive, not 0 ms");
    EXPECT_EQ(complaint({.park_backoff = {.base = 1ms, .max = 1ms}}), "");
}

TEST(RuntimeOptions, ANodeIdIsTextThatCanBeShown) {
    const auto sentence =
        "RuntimeOptions::worker_node_id must be UTF-8 text without control characters";
    EXPECT_EQ(complaint({.worker_node_id = "node\n1"}), sentence);
    EXPECT_EQ(complaint({.worker_node_id = std::string{"nul\0", 4}}), sentence);
    EXPECT_EQ(complaint({.worker_node_id = "\xff"}), sentence);
    EXPECT_EQ(complaint({.worker_node_id = std::string(513, 'x')}),
              "RuntimeOptions::worker_node_id must not exceed 512 bytes");
    EXPECT_EQ(complaint({.worker_node_id = "Knoten-\xc3\xa4"}), "");
}

TEST(RuntimeOptions, AValueOutsideOfItsEnumerationIsRefused) {
    EXPECT_EQ(complaint({.nondeterminism = static_cast<NondeterminismPolicy>(7)}),
              "RuntimeOptions::nondeterminism is none of its values: 7");
}

TEST(RuntimeOptions, ARuntimeThatWouldRunNothingIsRefused) {
    EXPECT_EQ(complaint({.orchestration_threads = 0}), "");
    EXPECT_EQ(complaint({.activity_threads = 0}), "");
    EXPECT_EQ(complaint({.orchestration_threads = 0, .activity_threads = 0}),
              "RuntimeOptions::orchestration_threads and activity_threads are both 0: nothing "
              "would run");
}

TEST(RuntimeOptions, SessionIdleTimeoutMustExceedTheRenewalIntervalOfActivities) {
    EXPECT_EQ(complaint({.session_idle_timeout = 15s}),
              "RuntimeOptions::session_idle_timeout (15000 ms) must exceed the renewal interval "
              "of activities (15000 ms)");
    EXPECT_EQ(complaint({.session_idle_timeout = 15001ms}), "");
}

TEST(RenewalInterval, T16_IsNeverMoreThanHalfOfTheLease) {
    EXPECT_EQ(renewal_interval(30s, 5s), 15s);
    EXPECT_EQ(renewal_interval(30s, 20s), 10s);
    EXPECT_EQ(renewal_interval(1s, 0s), 500ms);
    EXPECT_EQ(renewal_interval(300ms, 100ms), 150ms);
    EXPECT_EQ(renewal_interval(Duration::max(), Duration::min()), Duration::max() / 2);
    EXPECT_EQ(renewal_interval(1s, 5s), 500ms); // a buffer longer than the lease is ignored
    EXPECT_EQ(renewal_interval(1ms, 0ms), 1ms);
}

TEST(GrowingDelay, DoublesUpToItsMaximum) {
    const GrowingDelay backoff;

    EXPECT_EQ(backoff.delay(1), 1s);
    EXPECT_EQ(backoff.delay(2), 2s);
    EXPECT_EQ(backoff.delay(6), 32s);
    EXPECT_EQ(backoff.delay(7), 60s);
    EXPECT_EQ(backoff.delay(4'000'000'000), 60s);
}

TEST(GrowingDelay, FollowsItsOwnNumbers) {
    const GrowingDelay backoff{.base = 10ms, .max = 50ms};

    EXPECT_EQ(backoff.delay(1), 10ms);
    EXPECT_EQ(backoff.delay(3), 40ms);
    EXPECT_EQ(backoff.delay(4), 50ms);
    EXPECT_EQ((GrowingDelay{.base = 0ms, .max = 1s}.delay(9)), 0ms);
}

} // namespace
} // namespace durable
