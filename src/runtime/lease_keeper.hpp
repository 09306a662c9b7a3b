// LeaseKeeper: renews the leases of running turns and activities, so that no other node takes them
// over.
//
// Each dispatcher owns one slot, because it holds one lease at a time: holding and releasing one
// costs no allocation and wakes no thread. renew_due() is called by the thread that renews
// (renewals.hpp), and renews all that is due in one call of the provider.

#pragma once

#include "base/mutex.hpp"
#include "observability/observer.hpp"
#include "runtime/agenda.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace durable::runtime {

enum class LeaseKind : std::uint8_t { turn, activity };

struct LeaseTiming {
    Duration lock_timeout;
    Duration interval; // between renewals
};

// Whose lease it is, for messages that name it.
struct LeaseSubject {
    std::string instance;
    std::uint64_t execution_id = 0;
};

class LeaseKeeper {
    struct State;

 public:
    struct Services {
        Provider& provider;
        Clock& clock;
        const observability::Observer& observer;
        Agenda& agenda;
    };

    LeaseKeeper(Services services, LeaseTiming turns, LeaseTiming activities);
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;
    ~LeaseKeeper();

    // Belongs to the thread of one dispatcher; another thread renews what it holds.
    class Slot {
     public:
        Slot(Slot&&) noexcept = default;
        Slot& operator=(Slot&&) = delete;
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        ~Slot();

        // From now on the lease is renewed. When it turns out to be lost, `on_lost` is stopped. A
        // storage error is no loss: the renewal is tried again soon (T-24).
        void hold(std::string token, std::stop_source on_lost, const LeaseSubject& subject = {});
        // When this returns, no renewal of the lease is under way, and none will begin.
        void release();
        [[nodiscard]] bool lost() const;

     private:
        friend class LeaseKeeper;
        Slot(LeaseKeeper& keeper, std::shared_ptr<State> state);

        LeaseKeeper* keeper_;
        std::shared_ptr<State> state_; // shared with a renewal under way; null: moved from
    };

    [[nodiscard]] Slot open_slot(LeaseKind kind);

    struct Held {
        std::string token;
        LeaseSubject subject;
    };
    // What is held at this moment: turns under way.
    [[nodiscard]] std::vector<Held> held(LeaseKind kind);

    // Renews what is due; answers when to call again. With `ahead`: also what becomes due within
    // that time, and for so much longer, for time that will be skipped.
    SteadyInstant renew_due(Duration ahead = Duration::zero());

 private:
    struct Due {
        std::shared_ptr<State> state;
        std::string token;
        std::uint64_t generation = 0;
    };
    // What became of one renewal. `error`: of the call; nullptr: it was carried out.
    void note(const Due& due, SteadyInstant until, bool lost, const Error* error);
    [[nodiscard]] std::vector<Due> collect_due(SteadyInstant until);
    [[nodiscard]] SteadyInstant next_due();
    [[nodiscard]] const LeaseTiming& timing(LeaseKind kind) const noexcept;

    Services services_;
    LeaseTiming turns_;
    LeaseTiming activities_;
    Mutex mutex_;
    std::vector<std::shared_ptr<State>> slots_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
