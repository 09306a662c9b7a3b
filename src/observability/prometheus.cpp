#include "observability/prometheus.hpp"

#include <array>
#include <charconv>

namespace durable::observability {

namespace {

std::string_view type_of(MetricKind kind) {
    switch (kind) {
    case MetricKind::counter:
        return "counter";
    case MetricKind::gauge:
        return "gauge";
    case MetricKind::histogram:
        return "histogram";
    }
    return "untyped";
}

void append_number(std::string& out, double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    out.append(text.data(), end);
}

// A label value may hold any text: backslash, quote and line feed are escaped.
void append_escaped(std::string& out, std::string_view value) {
    for (const char c : value) {
        if (c == '\\' || c == '"') {
            out += '\\';
        }
        if (c == '\n') {
            out += "\\n";
        } else {
            out += c;
        }
    }
}

// {a="x",le="5"}; nothing without labels.
void append_labels(std::string& out,
                   const MetricInfo& metric,
                   const Series& series,
                   std::string_view le = {}) {
    if (metric.labels.empty() && le.empty()) {
        return;
    }
    char lead = '{';
    for (std::size_t i = 0; i < metric.labels.size(); ++i) {
        out += lead;
        lead = ',';
        out += metric.labels[i];
        out += "=\"";
        append_escaped(out, series.labels[i]);
        out += '"';
    }
    if (!le.empty()) {
        out += lead;
        out += "le=\"";
        out += le;
        out += '"';
    }
    out += '}';
}

void append_sample(std::string& out,
                   const MetricInfo& metric,
                   std::string_view suffix,
                   const Series& series,
                   double value,
                   std::string_view le = {}) {
    out += metric.name;
    out += suffix;
    append_labels(out, metric, series, le);
    out += ' ';
    append_number(out, value);
    out += '\n';
}

void append_histogram(std::string& out, const MetricInfo& metric, const Series& series) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < metric.buckets.size(); ++i) {
        below += series.buckets[i];
        std::string bound;
        append_number(bound, metric.buckets[i]);
        append_sample(out, metric, "_bucket", series, static_cast<double>(below), bound);
    }
    append_sample(out, metric, "_bucket", series, series.value, "+Inf");
    append_sample(out, metric, "_sum", series, series.sum);
    append_sample(out, metric, "_count", series, series.value);
}

} // namespace

void render_prometheus(std::string& out, const MetricInfo& metric, std::span<const Series> series) {
    if (series.empty()) {
        return;
    }
    out.append("# HELP ").append(metric.name).append(" ").append(metric.help).append("\n# TYPE ");
    out.append(metric.name).append(" ").append(type_of(metric.kind)).append("\n");
    for (const auto& each : series) {
        if (metric.kind == MetricKind::histogram) {
            append_histogram(out, metric, each);
        } else {
            append_sample(out, metric, "", each, each.value);
        }
    }
}

} // namespace durable::observability
