// What runs during a simulated day: orders with timers, retries, an event, a child and a value that
// counts; and a watch that continues as new every ten minutes.

#pragma once

#include <durable/durable.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace durable::simulation {

inline constexpr Orchestration<std::string(std::string)> process_order{"Order"};
inline constexpr Orchestration<int(int)> watch{"Watch"};
inline constexpr Event<std::string> paid{"Paid"};

inline constexpr Duration longest_payment = std::chrono::minutes{30};

// Called when an activity runs. Throws when it is to fail; it is retried then.
using OnRun = std::function<void(ActivityContext&)>;

[[nodiscard]] Registry make_registry(OnRun on_run);

// "order-7 reserved paid packed carried"
[[nodiscard]] std::string expected_result(std::string_view id, bool is_paid);
inline constexpr int expected_count = 3; // the value "count" of a finished order

} // namespace durable::simulation
