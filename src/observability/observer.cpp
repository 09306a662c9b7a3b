#include "observability/observer.hpp"

#include <span>
#include <utility>

namespace durable::observability {

Observer::Observer(std::shared_ptr<Clock> clock, Sinks sinks)
    : clock_{std::move(clock)}, sinks_{std::move(sinks)} {
    if (!sinks_.logger) {
        sinks_.logger = silent_logger();
    }
}

void Observer::log(LogLevel level,
                   const Where& where,
                   std::string_view message,
                   std::initializer_list<LogField> fields) const noexcept {
    log_as("runtime", level, where, message, fields);
}

void Observer::log_as(std::string_view source,
                      LogLevel level,
                      const Where& where,
                      std::string_view message,
                      std::initializer_list<LogField> fields) const noexcept {
    if (!sinks_.logger->enabled(level, source)) {
        return;
    }
    sinks_.logger->write({.level = level,
                          .source = source,
                          .message = message,
                          .time = clock_->now(),
                          .instance = where.instance,
                          .execution_id = where.execution_id,
                          .turn = where.turn,
                          .fields = std::span{fields.begin(), fields.size()}});
}

void Observer::record(Metric which,
                      double value,
                      std::initializer_list<std::string_view> labels) const noexcept {
    if (sinks_.metrics) {
        sinks_.metrics->record(metric(which), std::span{labels.begin(), labels.size()}, value);
    }
}

std::unique_ptr<Span> Observer::span(const SpanInfo& info) const noexcept {
    return sinks_.tracer ? sinks_.tracer->start(info) : nullptr;
}

} // namespace durable::observability
