// A clock that runs by itself, as the machine's does: its moments are whole milliseconds, the time
// between them is not. Sleeping under it takes no time, and sleepers are woken now and then before
// their time is up.

#pragma once

#include <durable/time.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

namespace durable {

class RunningClock final : public Clock {
 public:
    using Fine = std::chrono::microseconds;

    explicit RunningClock(Fine start) : time_{start} {}

    [[nodiscard]] Fine time() const noexcept { return time_.load(); }
    void run(Fine by) noexcept { time_.store(time_.load() + by); }

    [[nodiscard]] Instant now() const noexcept override {
        return Instant{std::chrono::floor<Duration>(time())};
    }
    [[nodiscard]] SteadyInstant steady() const noexcept override {
        return SteadyInstant{std::chrono::floor<Duration>(time())};
    }
    [[nodiscard]] Duration real_time(Duration duration) const noexcept override {
        constexpr Fine woken_after{2600};
        time_.store(time() + std::clamp<Fine>(duration, Fine::zero(), woken_after));
        return Duration::zero();
    }
    [[nodiscard]] std::shared_ptr<void> on_jump(std::function<void()>) override { return nullptr; }

 private:
    mutable std::atomic<Fine> time_;
};

} // namespace durable
