// Ticket: where one caller sleeps until another thread has done its part, or calls it to lead.
//
// Writer and LogSync give each of their callers a ticket: the caller waits on it, the leader of the
// batch calls it. 32 waiters share one futex word, one bit each (FUTEX_WAIT_BITSET), so that a
// leader wakes a batch of them with one system call. A leader calls without a lock, and the caller
// may be gone a moment later: so the words belong to the Writer or LogSync, not to the tickets.

#pragma once

#include "base/futex.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace durable::sqlite {

class WaitWord {
 public:
    using Bits = std::uint32_t; // one per waiter
    static constexpr std::size_t bits = 32;

    // A waiter reads this, checks whether it was called, and sleeps with what it read: a wake-up
    // in between ends the sleep at once, and what the waker did before it is seen by the check.
    [[nodiscard]] std::uint32_t wake_ups() const {
        return wake_ups_.load(std::memory_order_acquire);
    }
    void sleep(std::uint32_t seen, Bits bit) { sleep_while(wake_ups_, seen, bit); }
    void wake(Bits bits) {
        wake_ups_.fetch_add(1, std::memory_order_acq_rel);
        wake_those(wake_ups_, bits);
    }

 private:
    FutexWord wake_ups_{0};
};

// Bits for waiters in turn, from the beginning again after the last. Two waiters with the same bit
// are both woken for either of them.
class WaitWords {
 public:
    struct Place {
        WaitWord& word;
        WaitWord::Bits bit;
    };
    [[nodiscard]] Place next() {
        const auto number = arrivals_.fetch_add(1, std::memory_order_relaxed);
        return {.word = words_[number / WaitWord::bits % words_.size()],
                .bit = WaitWord::Bits{1} << (number % WaitWord::bits)};
    }

 private:
    std::atomic<std::size_t> arrivals_ = 0;
    std::array<WaitWord, 64> words_;
};

// Waiters to be woken together: one system call for neighbours in the same word.
class WakeList {
 public:
    void add(WaitWord& word, WaitWord::Bits bit) {
        if (entries_.empty() || entries_.back().word != &word) {
            entries_.push_back({&word, 0});
        }
        entries_.back().bits |= bit;
    }
    void wake() {
        for (const auto& entry : std::exchange(entries_, {})) {
            entry.word->wake(entry.bits);
        }
    }

 private:
    struct Entry {
        WaitWord* word;
        WaitWord::Bits bits;
    };
    std::vector<Entry> entries_;
};

class Ticket {
 public:
    enum class Call : std::uint8_t {
        none,
        lead, // its owner leads the next batch, unless another caller has begun to
        done, // for good
    };

    // Before another thread knows the ticket.
    void join(WaitWords& words);

    // Sleeps until it is called. Takes the call: one call to lead is answered once.
    [[nodiscard]] Call wait() {
        for (;;) {
            const auto seen = word_->wake_ups();
            auto call = Call::lead;
            if (call_.compare_exchange_strong(call, Call::none, std::memory_order_acquire) ||
                call == Call::done) {
                return call;
            }
            word_->sleep(seen, bit_);
        }
    }

    [[nodiscard]] bool is_done() const {
        return call_.load(std::memory_order_acquire) == Call::done;
    }

    // For the leader.
    void call_to_lead() {
        auto* const word = word_;
        const auto bit = bit_;
        call_.store(Call::lead, std::memory_order_release);
        word->wake(bit);
    }
    // After this the ticket belongs to its owner alone. An owner that sleeps does so until the list
    // is woken.
    void call_done(WakeList& list) {
        list.add(*word_, bit_);
        call_.store(Call::done, std::memory_order_release);
    }

 private:
    WaitWord* word_ = nullptr;
    WaitWord::Bits bit_ = 0;
    std::atomic<Call> call_ = Call::none;
};

inline void Ticket::join(WaitWords& words) {
    const auto place = words.next();
    word_ = &place.word;
    bit_ = place.bit;
}

} // namespace durable::sqlite
