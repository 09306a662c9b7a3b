// The fixture of the end-to-end tests: a real node on a store, one thread, time moved by hand.
// Every test runs twice: with suspended frames kept in memory, and with every turn replayed from
// the beginning.

#pragma once

#include "e2e/faulty_provider.hpp"
#include "e2e/recording_logger.hpp"

#include <durable/durable.hpp>
#include <durable/metrics.hpp>
#include <durable/test_runtime.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace durable::e2e {

using namespace std::chrono_literals; // NOLINT(google-global-names-in-headers): tests read better

enum class Frames : std::uint8_t { kept, evicted };

// A store of the kind that the environment variable DURABLE_E2E_STORE names: memory (the default),
// fs or sqlite.
[[nodiscard]] std::shared_ptr<Provider> make_store(std::shared_ptr<Clock> clock = nullptr);

// What can be asked of any history.
template <class Kind>
[[nodiscard]] std::size_t count(const std::vector<HistoryEvent>& history) {
    return static_cast<std::size_t>(std::ranges::count_if(history, [](const HistoryEvent& event) {
        return std::holds_alternative<Kind>(event.kind);
    }));
}

template <class Kind>
[[nodiscard]] const Kind* find(const std::vector<HistoryEvent>& history) {
    const auto found = std::ranges::find_if(history, [](const HistoryEvent& event) {
        return std::holds_alternative<Kind>(event.kind);
    });
    return found == history.end() ? nullptr : &std::get<Kind>(found->kind);
}

class E2e : public ::testing::TestWithParam<Frames> {
 protected:
    // Before its first use, `registry` and `options` may be changed.
    TestRuntime& runtime() {
        if (!runtime_) {
            options.evict_always = GetParam() == Frames::evicted;
            options.logger = log;
            options.metrics = metrics;
            runtime_ = std::make_unique<TestRuntime>(
                registry,
                TestRuntime::Options{.runtime = options, .clock = clock, .provider = store});
        }
        return *runtime_;
    }
    // As after a crash: nothing is left but the store. The next use brings a new runtime.
    void crash() { runtime_.reset(); }

    // Sends without running anything.
    template <class... Signature>
    void start(const Orchestration<Signature...>& orchestration, StartOptions start_options) {
        ASSERT_TRUE(client.start(orchestration, std::move(start_options)));
    }
    template <class R, class In>
    void start(const Orchestration<R(In)>& orchestration,
               const std::type_identity_t<In>& input,
               StartOptions start_options) {
        const auto run = client.start(orchestration, input, std::move(start_options));
        ASSERT_TRUE(run) << run.error().text();
    }
    template <class T>
    void raise(const std::string& id, const Event<T>& event, const std::type_identity_t<T>& value) {
        ASSERT_TRUE(client.raise(id, event, value));
    }
    template <class T>
    void
    enqueue(const std::string& id, const Queue<T>& queue, const std::type_identity_t<T>& value) {
        ASSERT_TRUE(client.enqueue(id, queue, value));
    }

    // Runs what can run now.
    void settle() { ASSERT_TRUE(runtime().run_until_idle()) << "it does not come to rest"; }

    // Runs until the instance has ended, skipping time. Empty with a failed test otherwise.
    OrchestrationStatus finish(const std::string& id) {
        auto status = runtime().finish(id);
        EXPECT_TRUE(status) << status.error().text();
        return status.value_or(OrchestrationStatus{});
    }
    std::string output(const std::string& id) {
        const auto status = finish(id);
        EXPECT_EQ(name_of(status.status), name_of(RunStatus::completed)) << failure_of(status);
        return status.output;
    }
    std::string failure(const std::string& id) {
        const auto status = finish(id);
        EXPECT_EQ(name_of(status.status), name_of(RunStatus::failed)) << status.output;
        return failure_of(status);
    }
    RunStatus status(const std::string& id) { return client.status(id).value().status; }

    [[nodiscard]] static std::string failure_of(const OrchestrationStatus& status) {
        return status.failure ? display_text(*status.failure) : "";
    }

    std::vector<HistoryEvent> history(const std::string& id) { return store->read(id).value(); }
    std::vector<HistoryEvent> history(const std::string& id, std::uint64_t execution) {
        return store->read_with_execution(id, execution).value();
    }
    Management management() { return client.management().value(); }
    double metric(std::string_view name, std::vector<std::string_view> labels = {}) {
        return metrics->value(name, labels);
    }

    std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
    std::shared_ptr<FaultyProvider> store = std::make_shared<FaultyProvider>(make_store(clock));
    Client client{store, clock};
    Registry registry;
    RuntimeOptions options;
    std::shared_ptr<RecordingLogger> log = std::make_shared<RecordingLogger>();
    std::shared_ptr<MetricsRecorder> metrics = std::make_shared<MetricsRecorder>();

 private:
    std::unique_ptr<TestRuntime> runtime_;
};

inline std::string frames_name(const ::testing::TestParamInfo<Frames>& info) {
    return info.param == Frames::kept ? "FramesKept" : "FramesEvicted";
}

#define DURABLE_E2E_SUITE(suite)                                                                   \
    class suite : public E2e {};                                                                   \
    INSTANTIATE_TEST_SUITE_P(, suite, ::testing::Values(Frames::kept, Frames::evicted), frames_name)

} // namespace durable::e2e
