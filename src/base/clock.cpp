#include <durable/testing.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>

namespace durable {

namespace {

class SystemClock final : public Clock {
 public:
    [[nodiscard]] Instant now() const noexcept override {
        return std::chrono::floor<Duration>(std::chrono::system_clock::now());
    }
    [[nodiscard]] SteadyInstant steady() const noexcept override {
        return std::chrono::floor<Duration>(std::chrono::steady_clock::now());
    }
    [[nodiscard]] Duration real_time(Duration duration) const noexcept override { return duration; }
    [[nodiscard]] std::shared_ptr<void> on_jump(std::function<void()>) override { return nullptr; }
};

} // namespace

const std::shared_ptr<Clock>& system_clock() {
    static const std::shared_ptr<Clock> clock = std::make_shared<SystemClock>();
    return clock;
}

// Outlives the clock while a handle does, so that handles may be destroyed in any order.
struct ManualClock::Sleepers {
    std::mutex mutex;
    std::list<std::function<void()>> wakes;
};

ManualClock::ManualClock(Instant start)
    : wall_{start},
      steady_{SteadyInstant{std::chrono::hours{1}}},
      sleepers_{std::make_shared<Sleepers>()} {}

ManualClock::~ManualClock() = default;

void ManualClock::advance(Timespan by) {
    if (by < Duration::zero()) {
        throw std::invalid_argument{
            "ManualClock::advance: time does not go back: " + std::to_string(by.count()) + " ms"};
    }
    {
        const std::scoped_lock lock{sleepers_->mutex};
        wall_.store(add_saturating(wall_.load(), by));
        steady_.store(add_saturating(steady_.load(), by));
    }
    wake_sleepers();
}

void ManualClock::set_wall(Instant wall) {
    wall_.store(wall);
    wake_sleepers();
}

Instant ManualClock::now() const noexcept {
    return wall_.load();
}

SteadyInstant ManualClock::steady() const noexcept {
    return steady_.load();
}

Duration ManualClock::real_time(Duration) const noexcept {
    return Duration::max();
}

std::shared_ptr<void> ManualClock::on_jump(std::function<void()> wake) {
    if (!wake) {
        throw std::invalid_argument{"ManualClock::on_jump: there is no function to call"};
    }
    const std::scoped_lock lock{sleepers_->mutex};
    sleepers_->wakes.push_back(std::move(wake));
    const auto place = std::prev(sleepers_->wakes.end());
    // The deleter locks the mutex that wake_sleepers holds during its calls: so it waits for them.
    return {&*place, [sleepers = sleepers_, place](void*) {
                const std::scoped_lock held{sleepers->mutex};
                sleepers->wakes.erase(place);
            }};
}

void ManualClock::wake_sleepers() {
    const std::scoped_lock lock{sleepers_->mutex};
    for (const auto& wake : sleepers_->wakes) {
        wake();
    }
}

} // namespace durable
