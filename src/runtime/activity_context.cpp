#include "model/ids.hpp"
#include "runtime/pause.hpp"

#include <durable/activity_context.hpp>
#include <durable/client.hpp>

#include <array>
#include <stdexcept>
#include <utility>

namespace durable {

ActivityContext::ActivityContext(ActivityInfo info, Services services)
    : info_{std::move(info)}, services_{std::move(services)} {
    if (!services_.clock) {
        services_.clock = system_clock();
    }
    if (!services_.logger) {
        services_.logger = silent_logger();
    }
}

ActivityContext::~ActivityContext() = default;

std::string ActivityContext::idempotency_key() const {
    return durable::idempotency_key(
        info_.instance, info_.execution_id, info_.call_id != 0 ? info_.call_id : info_.id);
}

bool ActivityContext::sleep(Timespan duration) const {
    if (services_.sleep) {
        return services_.sleep(duration, services_.stop);
    }
    return runtime::pause_on(*services_.clock, duration, services_.stop);
}

void ActivityContext::log(LogLevel level, std::string_view message) const {
    constexpr std::string_view source = "activity";
    if (!services_.logger->enabled(level, source)) {
        return;
    }
    const auto id = std::to_string(info_.id);
    const auto attempt = std::to_string(info_.attempt);
    const std::array fields{LogField{.name = "activity", .value = info_.name},
                            LogField{.name = "activity_id", .value = id},
                            LogField{.name = "attempt", .value = attempt},
                            LogField{.name = "orchestration", .value = info_.orchestration},
                            LogField{.name = "worker", .value = info_.worker_id}};
    services_.logger->write({.level = level,
                             .source = source,
                             .message = message,
                             .time = services_.clock->now(),
                             .instance = info_.instance,
                             .execution_id = info_.execution_id,
                             .fields = fields});
}

Client ActivityContext::client() const {
    if (!services_.provider) {
        throw std::logic_error{"this ActivityContext was made without a provider"};
    }
    return Client{services_.provider};
}

} // namespace durable
