// A manual clock that also counts how often a thread went to sleep under it: the only way to see,
// without waiting, that a thread sleeps and that none was woken in vain.

#pragma once

#include <durable/testing.hpp>
#include <durable/time.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace durable {

class ObservedClock final : public Clock {
 public:
    ObservedClock() = default;
    explicit ObservedClock(Instant start) : clock_{start} {}

    void advance(Duration by) { clock_.advance(by); }

    // Returns when threads have gone to sleep that many times in all. A sleeper asks with its mutex
    // held, so the next thread that locks that mutex finds it asleep.
    void await_sleeps(int count) const {
        for (int seen = sleeps_.load(); seen < count; seen = sleeps_.load()) {
            sleeps_.wait(seen);
        }
    }
    [[nodiscard]] int sleeps() const noexcept { return sleeps_.load(); }

    [[nodiscard]] Instant now() const noexcept override { return clock_.now(); }
    [[nodiscard]] SteadyInstant steady() const noexcept override { return clock_.steady(); }
    [[nodiscard]] Duration real_time(Duration duration) const noexcept override {
        if (duration > Duration::zero()) { // else it is asked whether it runs by itself
            sleeps_.fetch_add(1);
            sleeps_.notify_all();
        }
        return clock_.real_time(duration);
    }
    [[nodiscard]] std::shared_ptr<void> on_jump(std::function<void()> wake) override {
        return clock_.on_jump(std::move(wake));
    }

 private:
    ManualClock clock_;
    mutable std::atomic<int> sleeps_{0};
};

} // namespace durable
