// Ticket: a caller who sleeps until others have done its part, or give it a part to do for all.
//
// Callers that came one after the other sleep in one dormitory, each in a bed of its own: whoever
// wakes some of them does it with one system call. Whoever calls goes without a lock, and the
// caller may be gone a moment later: so the dormitories belong to neither of them, but to what both
// of them call.

#pragma once

#include "base/futex.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace durable::sqlite {

class Dormitory {
 public:
    using Bed = std::uint32_t; // a bit
    static constexpr std::size_t beds = 32;

    // What was done before a wake-up is seen by whoever looks after this. A wake-up that comes
    // between the look and the sleep ends that at once.
    [[nodiscard]] std::uint32_t wake_ups() const {
        return wake_ups_.load(std::memory_order_acquire);
    }
    void sleep(std::uint32_t seen, Bed bed) { sleep_while(wake_ups_, seen, bed); }
    void wake(Bed beds) {
        wake_ups_.fetch_add(1, std::memory_order_acq_rel);
        wake_those(wake_ups_, beds);
    }

 private:
    FutexWord wake_ups_{0};
};

// As many as there are, then from the beginning: two callers who got the same bed are both woken
// for either of them.
class Dormitories {
 public:
    struct Place {
        Dormitory& dormitory;
        Dormitory::Bed bed;
    };
    [[nodiscard]] Place next() {
        const auto number = arrivals_.fetch_add(1, std::memory_order_relaxed);
        return {.dormitory = all_[number / Dormitory::beds % all_.size()],
                .bed = Dormitory::Bed{1} << (number % Dormitory::beds)};
    }

 private:
    std::atomic<std::size_t> arrivals_ = 0;
    std::array<Dormitory, 64> all_;
};

// Beds to be woken.
class Sleepers {
 public:
    void add(Dormitory& dormitory, Dormitory::Bed bed) {
        if (rooms_.empty() || rooms_.back().dormitory != &dormitory) {
            rooms_.push_back({&dormitory, 0});
        }
        rooms_.back().beds |= bed;
    }
    void wake() {
        for (const auto& room : std::exchange(rooms_, {})) {
            room.dormitory->wake(room.beds);
        }
    }

 private:
    struct Room {
        Dormitory* dormitory;
        Dormitory::Bed beds;
    };
    std::vector<Room> rooms_;
};

class Ticket {
 public:
    enum class Call : std::uint8_t {
        none,
        lead, // its owner's turn to do what waits, unless somebody else has begun
        done, // for good
    };

    // Before anybody else knows it.
    void check_in(Dormitories& dormitories);

    // Sleeps until it is called. Of those who lead nobody is called twice for the same.
    [[nodiscard]] Call wait() {
        for (;;) {
            const auto seen = dormitory_->wake_ups();
            auto call = Call::lead;
            if (call_.compare_exchange_strong(call, Call::none, std::memory_order_acquire) ||
                call == Call::done) {
                return call;
            }
            dormitory_->sleep(seen, bed_);
        }
    }

    [[nodiscard]] bool is_done() const {
        return call_.load(std::memory_order_acquire) == Call::done;
    }

    // For others.
    void call_to_lead() {
        auto* const dormitory = dormitory_;
        const auto bed = bed_;
        call_.store(Call::lead, std::memory_order_release);
        dormitory->wake(bed);
    }
    // After this it is its owner's alone, who sleeps on, if it does, until its bed is woken.
    void call_done(Sleepers& sleepers) {
        sleepers.add(*dormitory_, bed_);
        call_.store(Call::done, std::memory_order_release);
    }

 private:
    Dormitory* dormitory_ = nullptr;
    Dormitory::Bed bed_ = 0;
    std::atomic<Call> call_ = Call::none;
};

inline void Ticket::check_in(Dormitories& dormitories) {
    const auto place = dormitories.next();
    dormitory_ = &place.dormitory;
    bed_ = place.bed;
}

} // namespace durable::sqlite
