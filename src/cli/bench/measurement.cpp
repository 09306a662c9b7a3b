#include "cli/bench/measurement.hpp"

#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace durable::cli {

namespace {

constexpr int width = 14;

// Three decimals: the rest is noise.
double rounded(double value) {
    return std::round(value * 1000) / 1000;
}

nlohmann::ordered_json number(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(rounded(*value)) : nlohmann::ordered_json(nullptr);
}

std::string text(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    std::ostringstream out; // leaves the format of the caller's stream alone
    out << std::fixed << std::setprecision(std::abs(*value) < 100 ? 2 : 0) << *value;
    return out.str();
}

} // namespace

double Measurement::per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(orchestrations) / seconds : 0;
}

std::optional<double> Measurement::syncs_per_orchestration() const noexcept {
    if (!sync_calls || orchestrations == 0) {
        return std::nullopt;
    }
    return static_cast<double>(*sync_calls) / static_cast<double>(orchestrations);
}

void print_json(std::ostream& out, const Measurement& measurement) {
    nlohmann::ordered_json line;
    line["workload"] = measurement.workload;
    line["store"] = measurement.store;
    line["orchestrations"] = measurement.orchestrations;
    line["orchestrations_per_second"] = number(measurement.per_second());
    line["p50_us"] = number(measurement.latencies.percentile(0.50));
    line["p95_us"] = number(measurement.latencies.percentile(0.95));
    line["p99_us"] = number(measurement.latencies.percentile(0.99));
    line["fdatasync_us"] = number(measurement.fdatasync_us);
    line["fsyncs_per_orchestration"] = number(measurement.syncs_per_orchestration());
    for (const auto& extra : measurement.extras) {
        line[std::string{extra.name}] = number(extra.value);
    }
    // A URL may hold bytes that are not UTF-8, as file names may.
    out << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print_headline(std::ostream& out) {
    out << std::left << std::setw(10) << "workload" << std::right;
    for (const auto* column : {"orchestrations",
                               "per second",
                               "p50 us",
                               "p95 us",
                               "p99 us",
                               "fdatasync us",
                               "fsyncs each"}) {
        out << ' ' << std::setw(width) << column;
    }
    out << '\n';
}

void print_row(std::ostream& out, const Measurement& measurement) {
    out << std::left << std::setw(10) << measurement.workload << std::right << ' '
        << std::setw(width) << measurement.orchestrations;
    const std::optional<double> columns[] = {measurement.per_second(),
                                             measurement.latencies.percentile(0.50),
                                             measurement.latencies.percentile(0.95),
                                             measurement.latencies.percentile(0.99),
                                             measurement.fdatasync_us,
                                             measurement.syncs_per_orchestration()};
    for (const auto& column : columns) {
        out << ' ' << std::setw(width) << text(column);
    }
    out << '\n';
    for (const auto& extra : measurement.extras) {
        out << "  " << extra.name << ' ' << text(extra.value) << '\n';
    }
    out.flush(); // the next one may take a while
}

} // namespace durable::cli
