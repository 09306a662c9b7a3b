// A script: the sequence of operations that a seed stands for. An operation is a verb and a number
// from which its arguments are drawn when it runs, so that any part of a script is a script.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace durable::validation {

enum class Verb : std::uint8_t {
    send,
    start,
    enqueue_activity,
    fetch_turn,
    commit_turn,
    abandon_turn,
    renew_turn,
    fetch_work,
    finish_work,
    abandon_work,
    renew_work,
    renew_sessions,
    cleanup_sessions,
    append,
    pass_time,
    remove,
    remove_exactly,
    remove_bulk,
    prune,
    prune_bulk,
    reopen,
};

struct Operation {
    Verb verb = Verb::send;
    std::uint64_t dice = 0;
};

// Small, fast and the same everywhere (splitmix64).
class Dice {
 public:
    explicit Dice(std::uint64_t seed) noexcept : state_{seed} {}

    [[nodiscard]] std::uint64_t number() noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31U);
    }
    [[nodiscard]] std::size_t below(std::size_t limit) noexcept { return number() % limit; }
    [[nodiscard]] bool one_in(std::size_t odds) noexcept { return below(odds) == 0; }

    template <class T, std::size_t N>
    [[nodiscard]] const T& pick(const std::array<T, N>& choices) noexcept {
        return choices[below(N)];
    }

 private:
    std::uint64_t state_;
};

[[nodiscard]] std::vector<Operation>
make_script(std::uint64_t seed, std::size_t operations, bool reopen);

} // namespace durable::validation
