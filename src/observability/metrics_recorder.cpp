#include "base/mutex.hpp"
#include "observability/prometheus.hpp"

#include <durable/metrics.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace durable {

using observability::Series;

namespace {

constexpr char separator = '\x1f'; // cannot be confused with a character of a name

void join(std::string& key, std::span<const std::string_view> labels) {
    key.clear();
    for (const auto label : labels) {
        key += label;
        key += separator;
    }
}

// One metric with all its label combinations.
class Family {
 public:
    void record(const MetricInfo& metric, std::span<const std::string_view> labels, double value) {
        thread_local std::string key;
        join(key, labels);
        const MutexLock lock{mutex_};
        auto& series = find(metric, labels, key);
        switch (metric.kind) {
        case MetricKind::counter:
            series.value += value;
            break;
        case MetricKind::gauge:
            series.value = value;
            break;
        case MetricKind::histogram:
            observe(metric, series, value);
            break;
        }
    }

    [[nodiscard]] std::vector<Series> series() const {
        const MutexLock lock{mutex_};
        std::vector<Series> all;
        all.reserve(series_.size());
        for (const auto& [key, each] : series_) {
            all.push_back(each);
        }
        return all;
    }

 private:
    Series& find(const MetricInfo& metric,
                 std::span<const std::string_view> labels,
                 const std::string& key) DURABLE_REQUIRES(mutex_) {
        if (const auto found = series_.find(key); found != series_.end()) {
            return found->second;
        }
        if (series_.size() < MetricsRecorder::max_series) {
            return insert(metric, key, {labels.begin(), labels.end()});
        }
        const std::vector<std::string_view> others(labels.size(), "other");
        std::string other_key;
        join(other_key, others);
        if (const auto found = series_.find(other_key); found != series_.end()) {
            return found->second;
        }
        return insert(metric, other_key, {others.begin(), others.end()});
    }

    Series& insert(const MetricInfo& metric,
                   const std::string& key,
                   std::vector<std::string> labels) DURABLE_REQUIRES(mutex_) {
        Series fresh{.labels = std::move(labels)};
        fresh.buckets.resize(metric.buckets.size());
        return series_.emplace(key, std::move(fresh)).first->second;
    }

    static void observe(const MetricInfo& metric, Series& series, double value) {
        const auto bucket = std::ranges::lower_bound(metric.buckets, value);
        if (bucket != metric.buckets.end()) {
            ++series.buckets[static_cast<std::size_t>(bucket - metric.buckets.begin())];
        }
        series.value += 1;
        series.sum += value;
    }

    mutable Mutex mutex_;
    std::map<std::string, Series> series_ DURABLE_GUARDED_BY(mutex_);
};

bool has_labels(const MetricInfo& metric,
                const Series& series,
                std::span<const std::string_view> wanted) {
    return std::ranges::all_of(wanted, [&](std::string_view each) {
        for (std::size_t i = 0; i < metric.labels.size(); ++i) {
            const auto name = metric.labels[i];
            if (each.starts_with(name) && each.substr(name.size()).starts_with('=') &&
                each.substr(name.size() + 1) == series.labels[i]) {
                return true;
            }
        }
        return false;
    });
}

const MetricInfo* find_metric(std::string_view name) {
    const auto all = metric_catalogue();
    const auto found = std::ranges::find(all, name, &MetricInfo::name);
    return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const MetricInfo& metric, std::span<const std::string_view> labels) {
    const auto* const known = find_metric(metric.name);
    const auto name = "the metric '" + std::string{metric.name} + "'";
    if (known == nullptr || known->index != metric.index) {
        throw std::invalid_argument{"MetricsRecorder::record: " + name +
                                    " is not of metric_catalogue(); only its metrics can be "
                                    "recorded"};
    }
    throw std::invalid_argument{"MetricsRecorder::record: " + name + " has " +
                                std::to_string(known->labels.size()) + " labels, not " +
                                std::to_string(labels.size())};
}

// The entry of the catalogue, also for a copy of it. Cheap for the entries that the runtime passes.
const MetricInfo& checked(const MetricInfo& metric, std::span<const std::string_view> labels) {
    const auto all = metric_catalogue();
    if (metric.index < all.size()) {
        const auto& known = all[metric.index];
        if ((&known == &metric || known.name == metric.name) &&
            known.labels.size() == labels.size()) {
            return known;
        }
    }
    refuse(metric, labels);
}

} // namespace

struct MetricsRecorder::Families {
    std::vector<Family> by_index{metric_catalogue().size()};
};

// Counters without labels exist from the beginning: an alert on the growth of a counter that
// appears with its first event would miss that event.
MetricsRecorder::MetricsRecorder() : families_{std::make_unique<Families>()} {
    for (const auto& metric : metric_catalogue()) {
        if (metric.kind == MetricKind::counter && metric.labels.empty()) {
            families_->by_index[metric.index].record(metric, {}, 0);
        }
    }
}

MetricsRecorder::~MetricsRecorder() = default;

void MetricsRecorder::record(const MetricInfo& metric,
                             std::span<const std::string_view> labels,
                             double value) {
    const auto& known = checked(metric, labels);
    families_->by_index[known.index].record(known, labels, value);
}

double MetricsRecorder::value(std::string_view name,
                              std::span<const std::string_view> labels) const {
    double total = 0;
    if (const auto* metric = find_metric(name)) {
        for (const auto& series : families_->by_index[metric->index].series()) {
            total += has_labels(*metric, series, labels) ? series.value : 0;
        }
    }
    return total;
}

double MetricsRecorder::sum(std::string_view name) const {
    double total = 0;
    if (const auto* metric = find_metric(name)) {
        for (const auto& series : families_->by_index[metric->index].series()) {
            total += series.sum;
        }
    }
    return total;
}

std::string MetricsRecorder::prometheus_text() const {
    std::string text;
    for (const auto& metric : metric_catalogue()) {
        const auto series = families_->by_index[metric.index].series();
        observability::render_prometheus(text, metric, series);
    }
    return text;
}

} // namespace durable
