// Metrics: what the runtime counts and measures, and where the numbers go.
//
//     auto metrics = std::make_shared<durable::MetricsRecorder>();
//     auto runtime = durable::Runtime::start(provider, registry, {.metrics = metrics});
//     http.get("/metrics", [metrics] { return metrics->prometheus_text(); });
//
// docs/operating.md explains each metric. To feed another system, implement Metrics.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace durable {

enum class MetricKind : std::uint8_t {
    counter,   // a recorded value is added
    gauge,     // a recorded value replaces the last one
    histogram, // a recorded value is one observation
};

struct MetricInfo {
    std::string_view name{}; // "durable_orchestration_starts_total"
    MetricKind kind = MetricKind::counter;
    std::string_view help{};
    std::span<const std::string_view> labels{}; // names, in the order of the values
    std::span<const double> buckets{};          // upper bounds, ascending; histograms only
    std::size_t index = 0;                      // its place in metric_catalogue()
};

// Every metric the library records.
[[nodiscard]] std::span<const MetricInfo> metric_catalogue() noexcept;

// Called from any thread, often: be quick. What the runtime records must not throw.
class Metrics {
 public:
    Metrics() = default;
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;
    virtual ~Metrics() = default;

    // `metric` is an element of metric_catalogue(); `labels` has one value per label of it.
    virtual void
    record(const MetricInfo& metric, std::span<const std::string_view> labels, double value) = 0;
};

// Keeps the numbers in memory, for a scraper and for tests.
class MetricsRecorder final : public Metrics {
 public:
    // A label with ever new values would use up the memory: past this many combinations per metric,
    // the rest is counted together under the label value "other".
    static constexpr std::size_t max_series = 1000;

    MetricsRecorder();
    ~MetricsRecorder() override;

    // Throws std::invalid_argument when `metric` is not of metric_catalogue(), or the number of
    // labels differs from its own: an application's own metrics belong into its own recorder.
    void record(const MetricInfo& metric,
                std::span<const std::string_view> labels,
                double value) override;

    // A counter's or gauge's value, a histogram's number of observations, summed over every series
    // that has all of `labels` ("name=value"). 0 when there is none.
    [[nodiscard]] double value(std::string_view name,
                               std::span<const std::string_view> labels = {}) const;
    // The sum of a histogram's observations.
    [[nodiscard]] double sum(std::string_view name) const;

    // The text format that Prometheus scrapes (version 0.0.4); metrics in the catalogue's order,
    // series by label. Counters without labels are there from the start, as 0; the others appear
    // with their first value.
    [[nodiscard]] std::string prometheus_text() const;

 private:
    struct Families;
    std::unique_ptr<Families> families_;
};

} // namespace durable
