// Observer: through which the parts of the runtime log, count and trace. One object instead of
// three optional ones: with nothing configured, every call is a cheap no-op. Any thread may call.

#pragma once

#include "observability/catalogue.hpp"

#include <durable/log.hpp>
#include <durable/metrics.hpp>
#include <durable/time.hpp>
#include <durable/trace.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace durable::observability {

// What a log line is about.
struct Where {
    std::string_view instance;
    std::uint64_t execution_id = 0;
    std::uint64_t turn = 0;
};

class Observer {
 public:
    struct Sinks {
        std::shared_ptr<Logger> logger;   // nullptr: silent
        std::shared_ptr<Metrics> metrics; // nullptr: none
        std::shared_ptr<Tracer> tracer;   // nullptr: none
    };

    Observer(std::shared_ptr<Clock> clock, Sinks sinks);

    void log(LogLevel level,
             const Where& where,
             std::string_view message,
             std::initializer_list<LogField> fields = {}) const noexcept;
    // For log lines of user code; `source` is "orchestration" or "activity".
    void log_as(std::string_view source,
                LogLevel level,
                const Where& where,
                std::string_view message,
                std::initializer_list<LogField> fields = {}) const noexcept;

    void record(Metric which,
                double value,
                std::initializer_list<std::string_view> labels = {}) const noexcept;
    void count(Metric which, std::initializer_list<std::string_view> labels = {}) const noexcept {
        record(which, 1, labels);
    }

    [[nodiscard]] std::unique_ptr<Span> span(const SpanInfo& info) const noexcept;

    [[nodiscard]] const std::shared_ptr<Logger>& logger() const noexcept { return sinks_.logger; }
    [[nodiscard]] bool has_metrics() const noexcept { return sinks_.metrics != nullptr; }

 private:
    std::shared_ptr<Clock> clock_;
    Sinks sinks_;
};

} // namespace durable::observability
