// Waiting on a Clock, ended early by a stop request. Dispatchers call it on their own threads
// between two attempts of a store call.

#pragma once

#include <durable/time.hpp>

#include <functional>
#include <stop_token>

namespace durable::runtime {

// How the runtime waits between two attempts. A test that runs everything on one thread moves the
// clock instead. False: asked to stop.
using Pause = std::function<bool(Duration, const std::stop_token&)>;

// Waits `duration` of the clock's time. False, at once, when asked to stop.
[[nodiscard]] bool pause_on(Clock& clock, Duration duration, const std::stop_token& stop);

} // namespace durable::runtime
