// Random: the only door through which the library gets unpredictable numbers.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

namespace durable {

// Any thread may call.
class Random {
 public:
    Random() = default;
    Random(const Random&) = delete;
    Random& operator=(const Random&) = delete;
    virtual ~Random() = default;

    [[nodiscard]] virtual std::uint64_t next() = 0;
};

// The operating system's, fit for secrets. Lives as long as the program.
[[nodiscard]] const std::shared_ptr<Random>& system_random();

// The same numbers for the same seed: tests and simulations.
class SeededRandom final : public Random {
 public:
    explicit SeededRandom(std::uint64_t seed) : state_{seed} {}

    [[nodiscard]] std::uint64_t next() override;

 private:
    std::mutex mutex_;
    std::uint64_t state_;
};

} // namespace durable
