// ActivityContext: what a running activity knows about itself, and how it is asked to stop.
//
//     registry.add(charge_card, [](durable::ActivityContext& ctx, const Order& order) {
//         while (!gateway.ready()) {
//             if (!ctx.sleep(1s)) { throw std::runtime_error{"asked to stop"}; }
//         }
//         return gateway.charge(order, ctx.idempotency_key());
//     });
//
// An activity runs at least once: after a crash it runs again, as another attempt. It is asked
// to stop when its orchestration no longer wants the result or another worker took it over: its
// result is ignored then. It is also asked when the runtime shuts down: its result is stored if it
// returns before the runtime gives up waiting; if it throws, or returns later, it runs again.

#pragma once

#include <durable/log.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace durable {

class Client;
class Provider;

struct ActivityInfo {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::string orchestration;
    std::string orchestration_version;
    std::string name;
    std::uint64_t id = 0; // the event id of the step in the orchestration's history
    // 1 when the call runs for the first time. Each retry by its RetryPolicy adds one, and so does
    // each time this step is handed out again, after a crash or a lost lease. Repetitions of the
    // steps of earlier retries are not known here and not counted.
    std::uint32_t attempt = 1;
    std::string worker_id;
    std::optional<std::string> session;
    std::optional<std::string> tag;
    // The `id` of the call's first attempt: equal to `id` in that one, and in calls without
    // retries. 0, in a test that fills this in itself, means `id`.
    std::uint64_t call_id = 0;
};

// One per call, on the thread that runs the activity. Helper threads may use it until the activity
// returns.
class ActivityContext final {
 public:
    // What the context uses. Made by the runtime, or by a test that calls an activity itself.
    struct Services {
        std::shared_ptr<Clock> clock;       // nullptr: the machine's
        std::shared_ptr<Logger> logger;     // nullptr: silent
        std::shared_ptr<Provider> provider; // nullptr: client() is not available
        std::stop_token stop;
        // How sleep() waits; empty: on the clock. Tests without threads move the clock instead.
        std::function<bool(Duration, const std::stop_token&)> sleep;
    };

    ActivityContext(ActivityInfo info, Services services);
    ActivityContext(const ActivityContext&) = delete;
    ActivityContext& operator=(const ActivityContext&) = delete;
    ~ActivityContext();

    [[nodiscard]] const ActivityInfo& info() const noexcept { return info_; }
    [[nodiscard]] const std::string& instance() const noexcept { return info_.instance; }
    [[nodiscard]] std::uint64_t execution_id() const noexcept { return info_.execution_id; }
    [[nodiscard]] std::uint64_t id() const noexcept { return info_.id; }
    [[nodiscard]] std::uint32_t attempt() const noexcept { return info_.attempt; }

    // "order-7/1/4", instance, execution, first step: one key for one ctx.call, for all its runs:
    // after a crash, after a lost lease, as a retry of its RetryPolicy. No other call has it,
    // unless the instance is deleted and another one is started under its id.
    [[nodiscard]] std::string idempotency_key() const;

    [[nodiscard]] const std::stop_token& stop_token() const noexcept { return services_.stop; }
    [[nodiscard]] bool stop_requested() const noexcept { return services_.stop.stop_requested(); }

    // Waits. False, at once, when asked to stop.
    [[nodiscard]] bool sleep(Timespan duration) const;

    void log(LogLevel level, std::string_view message) const;

    // A client of the same store, for activities that start, signal or prune other instances.
    // Throws std::logic_error when the context was made without a provider.
    [[nodiscard]] Client client() const;

 private:
    ActivityInfo info_;
    Services services_;
};

} // namespace durable
