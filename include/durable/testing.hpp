// For tests of code that uses libdurable, and for the library's own: time that moves by hand.

#pragma once

#include <durable/time.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace durable {

// Starts at a fixed moment and stands still until a test moves it. Moving it wakes every thread
// that waits for time to pass. Any thread may move it.
class ManualClock final : public Clock {
 public:
    explicit ManualClock(Instant start = from_epoch_ms(1'760'000'000'000));
    ~ManualClock() override;

    // Time passes: on the wall and for leases alike. Throws std::invalid_argument when `by` is
    // negative: only set_wall goes back.
    void advance(Timespan by);
    // The wall clock is set, as an operator or NTP would; leases do not notice.
    void set_wall(Instant wall);

    [[nodiscard]] Instant now() const noexcept override;
    [[nodiscard]] SteadyInstant steady() const noexcept override;
    [[nodiscard]] Duration real_time(Duration duration) const noexcept override;
    // Throws std::invalid_argument without a function.
    [[nodiscard]] std::shared_ptr<void> on_jump(std::function<void()> wake) override;

 private:
    struct Sleepers;

    void wake_sleepers();

    std::atomic<Instant> wall_;
    std::atomic<SteadyInstant> steady_;
    std::shared_ptr<Sleepers> sleepers_;
};

} // namespace durable
