#include "observability/catalogue.hpp"
#include "observability/observer.hpp"

#include <durable/metrics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable::observability {
namespace {

void record(MetricsRecorder& recorder,
            Metric which,
            double value,
            std::vector<std::string_view> labels = {}) {
    recorder.record(metric(which), labels, value);
}

TEST(MetricCatalogue, NamesAreUniqueAndFollowTheConventions) {
    std::set<std::string_view> names;
    for (const auto& each : metric_catalogue()) {
        EXPECT_TRUE(each.name.starts_with("durable_")) << each.name;
        EXPECT_EQ(each.name.ends_with("_total"), each.kind == MetricKind::counter) << each.name;
        EXPECT_EQ(!each.buckets.empty(), each.kind == MetricKind::histogram) << each.name;
        EXPECT_TRUE(std::ranges::is_sorted(each.buckets)) << each.name;
        EXPECT_FALSE(each.help.empty()) << each.name;
        names.insert(each.name);
    }
    EXPECT_EQ(names.size(), metric_catalogue().size());
}

TEST(MetricsRecorder, CountersAddAndGaugesReplace) {
    MetricsRecorder recorder;

    record(recorder, Metric::orchestration_poison, 1);
    record(recorder, Metric::orchestration_poison, 2);
    record(recorder, Metric::cached_frames, 7);
    record(recorder, Metric::cached_frames, 4);

    EXPECT_EQ(recorder.value("durable_orchestration_poison_total"), 3);
    EXPECT_EQ(recorder.value("durable_cached_frames"), 4);
}

TEST(MetricsRecorder, SumsOverTheSeriesThatHaveTheLabels) {
    MetricsRecorder recorder;
    record(recorder, Metric::orchestration_starts, 1, {"Hello", "1.0.0", "client"});
    record(recorder, Metric::orchestration_starts, 1, {"Hello", "2.0.0", "client"});
    record(recorder, Metric::orchestration_starts, 1, {"Bye", "1.0.0", "parent"});
    constexpr std::string_view name = "durable_orchestration_starts_total";

    EXPECT_EQ(recorder.value(name), 3);
    EXPECT_EQ(recorder.value(name, std::array{std::string_view{"orchestration_name=Hello"}}), 2);
    EXPECT_EQ(recorder.value(name,
                             std::array{std::string_view{"orchestration_name=Hello"},
                                        std::string_view{"version=2.0.0"}}),
              1);
    EXPECT_EQ(recorder.value(name, std::array{std::string_view{"version=9"}}), 0);
    EXPECT_EQ(recorder.value("no_such_metric"), 0);
}

std::string refusal(const MetricInfo& info, std::vector<std::string_view> labels) {
    MetricsRecorder recorder;
    try {
        recorder.record(info, labels, 1);
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
    return "recorded";
}

TEST(MetricsRecorder, RefusesAMetricThatIsNotOfTheCatalogue) {
    for (const std::size_t index : {std::size_t{0}, metric_catalogue().size(), SIZE_MAX}) {
        EXPECT_EQ(refusal({.name = "my_total", .help = "mine", .index = index}, {}),
                  "MetricsRecorder::record: the metric 'my_total' is not of metric_catalogue(); "
                  "only its metrics can be recorded");
    }
}

TEST(MetricsRecorder, RefusesAnotherNumberOfLabels) {
    EXPECT_EQ(refusal(metric(Metric::orchestration_turns), {}),
              "MetricsRecorder::record: the metric 'durable_orchestration_turns' has 1 labels, "
              "not 0");
    EXPECT_EQ(refusal(metric(Metric::orchestration_poison), {"a"}).substr(0, 23),
              "MetricsRecorder::record");
}

TEST(MetricsRecorder, TakesACopyOfAMetricOfTheCatalogue) {
    auto copy = metric(Metric::orchestration_turns);
    copy.buckets = {}; // what counts is the catalogue's
    EXPECT_EQ(refusal(copy, {"Hello"}), "recorded");
}

TEST(MetricsRecorder, RendersThePrometheusTextFormat) {
    MetricsRecorder recorder;
    record(recorder, Metric::orchestration_turns, 1, {"Hello"});
    record(recorder, Metric::orchestration_turns, 5, {"Hello"});
    record(recorder, Metric::orchestration_turns, 1000, {"Hello"});
    record(recorder, Metric::activity_zombies, 0);

    const auto text = recorder.prometheus_text();

    EXPECT_TRUE(text.contains(
        "# HELP durable_orchestration_turns Turns of an execution that ended\n"
        "# TYPE durable_orchestration_turns histogram\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"1\"} 1\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"2\"} 1\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"5\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"10\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"20\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"50\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"100\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"200\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"500\"} 2\n"
        "durable_orchestration_turns_bucket{orchestration_name=\"Hello\",le=\"+Inf\"} 3\n"
        "durable_orchestration_turns_sum{orchestration_name=\"Hello\"} 1006\n"
        "durable_orchestration_turns_count{orchestration_name=\"Hello\"} 3\n"))
        << text;
    EXPECT_TRUE(
        text.contains("# HELP durable_activity_zombies Activities that ignore the request to stop\n"
                      "# TYPE durable_activity_zombies gauge\n"
                      "durable_activity_zombies 0\n"))
        << text;
}

// An alert on a counter that does not exist yet would miss its first event.
TEST(MetricsRecorder, CountersWithoutLabelsStartAtZero) {
    const auto text = MetricsRecorder{}.prometheus_text();

    std::size_t counters = 0;
    for (const auto& each : metric_catalogue()) {
        const bool starts = each.kind == MetricKind::counter && each.labels.empty();
        const auto sample = "\n" + std::string{each.name} + " 0\n";
        EXPECT_EQ(text.find(sample) != std::string::npos, starts) << each.name;
        counters += starts ? 1U : 0U;
    }
    EXPECT_GT(counters, 0u);
}

TEST(MetricsRecorder, LabelValuesAreEscaped) {
    MetricsRecorder recorder;

    record(recorder, Metric::activity_configuration_errors, 1, {"a\"b\\c\nd"});

    EXPECT_NE(recorder.prometheus_text().find(R"(activity_name="a\"b\\c\nd"} 1)"),
              std::string::npos);
}

TEST(MetricsRecorder, EndlessLabelValuesAreCountedTogether) {
    MetricsRecorder recorder;

    for (std::size_t i = 0; i < MetricsRecorder::max_series + 5; ++i) {
        record(recorder, Metric::activity_configuration_errors, 1, {std::to_string(i)});
    }

    constexpr std::string_view name = "durable_activity_configuration_errors_total";
    EXPECT_EQ(recorder.value(name, std::array{std::string_view{"activity_name=other"}}), 5);
    EXPECT_EQ(recorder.value(name), MetricsRecorder::max_series + 5);
}

TEST(MetricsRecorder, ThreadsMayRecordAtOnce) {
    MetricsRecorder recorder;

    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int n = 0; n < 1000; ++n) {
                    record(recorder, Metric::activity_poison, 1);
                }
            });
        }
    }

    EXPECT_EQ(recorder.value("durable_activity_poison_total"), 4000);
}

TEST(Observer, WithoutSinksEveryCallIsANoOp) {
    const Observer observer{system_clock(), {}};

    observer.log(LogLevel::error, {.instance = "a"}, "nobody listens");
    observer.count(Metric::activity_poison);

    EXPECT_EQ(observer.span({.name = "x"}), nullptr);
}

} // namespace
} // namespace durable::observability
