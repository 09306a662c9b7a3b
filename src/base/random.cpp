#include "base/random.hpp"

#include "base/process.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace durable {

namespace {

// Draws a block at a time: one system call per number would cost more than a whole fetch.
class SystemRandom final : public Random {
 public:
    [[nodiscard]] std::uint64_t next() override {
        const std::scoped_lock lock{mutex_};
        // A child process must not repeat its parent's numbers.
        if (used_ == block_.size() || !home_.here()) {
            refill();
        }
        return block_[used_++]; // NOLINT(cppcoreguidelines-pro-bounds-constant-array-index)
    }

 private:
    void refill() {
        // getentropy returns at most 256 bytes, and on Linux it cannot fail for less. Without
        // randomness the process cannot go on safely.
        if (getentropy(block_.data(), sizeof block_) != 0) {
            std::abort();
        }
        used_ = 0;
        home_ = HomeProcess{};
    }

    std::mutex mutex_;
    std::array<std::uint64_t, 32> block_{};
    std::size_t used_ = 32;
    HomeProcess home_; // of the block
};

} // namespace

const std::shared_ptr<Random>& system_random() {
    static const std::shared_ptr<Random> random = std::make_shared<SystemRandom>();
    return random;
}

// SplitMix64: passes through all 2^64 states, so numbers never repeat within a run.
std::uint64_t SeededRandom::next() {
    const std::scoped_lock lock{mutex_};
    auto mixed = (state_ += 0x9e3779b97f4a7c15U);
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
}

} // namespace durable
