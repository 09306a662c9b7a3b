// FetchWaiters: the threads in a fetch of one kind (turns or activities), and which of them gets
// what. Waiting calls it, under its mutex.
//
// A transaction hands the work that it makes to a sleeping waiter (hand-off, P11). Where none
// sleeps, a waiter that is looking is called to look again. One sleeper has a timer for the next
// work that falls due; the others have none.

#pragma once

#include "base/sleeper.hpp"
#include "providers/sqlite/store/transaction.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace durable::sqlite {

using Signals = std::vector<std::shared_ptr<Signal>>;

enum class FetchPhase : std::uint8_t {
    looking,
    asleep,
    claimed, // a transaction of another thread takes something for it
    served,  // that transaction is committed
};

struct FetchWaiterState {
    FetchPhase phase = FetchPhase::looking;
    bool was_called = false; // once or more, and it has looked since
    bool called = false;     // there may be work for it, and it has not looked since
    bool stands_by = false;  // its look is part of the transaction under way and still to run
    SteadyInstant wakes_at;  // its own timer, while asleep
    std::unique_ptr<Sleeper> sleeper;
    // Takes something for it, inside a transaction of another thread.
    std::function<bool(Transaction&)> take;
};

template <class Request>
struct FetchWaiter : FetchWaiterState {
    using Fresh = std::conditional_t<std::is_same_v<Request, FetchWork>, FreshWork, FreshTurn>;

    const Request* request = nullptr;
    // The same with work that is not queued yet.
    std::function<bool(Transaction&, Fresh&)> take_fresh;
};

// Guarded by the mutex of Waiting.
template <class Request>
class FetchWaiters {
 public:
    void add(FetchWaiter<Request>& waiter) { waiters_.push_back(&waiter); }
    void remove(FetchWaiter<Request>& waiter) { std::erase(waiters_, &waiter); }
    [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }

    // Whether a look would find nothing for the request: a waiter for the same sleeps, was handed
    // nothing and not called; and nothing is due.
    [[nodiscard]] bool in_vain(const Request& request, SteadyInstant now) const {
        return !is_due(now) && std::ranges::any_of(waiters_, [&](const auto* waiter) {
            return waiter->phase == FetchPhase::asleep && !waiter->called &&
                   !waiter->request->stop.stop_requested() &&
                   fetch_the_same(*waiter->request, request);
        });
    }

    // A waiter that `suits(request)` accepts, to be handed something; nullptr: none. First one that
    // stands by, else the sleeper with the latest timer: so the one that covers the next due time
    // is taken last.
    template <class Suits>
    [[nodiscard]] FetchWaiter<Request>* claim(Suits&& suits) {
        for (auto* waiter : waiters_) {
            if (waiter->stands_by && suits(*waiter->request)) {
                waiter->stands_by = false;
                return waiter;
            }
        }
        FetchWaiter<Request>* best = nullptr;
        for (auto* waiter : waiters_) {
            if (waiter->phase == FetchPhase::asleep && !waiter->called &&
                (best == nullptr || waiter->wakes_at >= best->wakes_at) &&
                !waiter->request->stop.stop_requested() && suits(*waiter->request)) {
                best = waiter; // of equals the last that fell asleep: its core is warm
            }
        }
        if (best != nullptr) {
            best->phase = FetchPhase::claimed;
        }
        return best;
    }

    void end_stand_by() {
        for (auto* waiter : waiters_) {
            waiter->stands_by = false;
        }
    }

    // Wakes all sleepers without calling them: after a jump of the clock each looks for itself.
    void wake_all(Signals& to_wake) const {
        for (const auto* waiter : waiters_) {
            if (waiter->phase == FetchPhase::asleep) {
                to_wake.push_back(waiter->sleeper->signal());
            }
        }
    }

    // Whether all of them may take the same work.
    [[nodiscard]] bool all_alike() const {
        return std::ranges::all_of(waiters_, [&](const auto* waiter) {
            return fetch_the_same(*waiter->request, *waiters_.front()->request);
        });
    }

    // For up to `pieces` pieces of work: calls as many waiters. First those that are looking, last
    // those that are claimed: they may get something else and then pass the call on. Answers for
    // how many pieces there was no waiter to call.
    template <class Suits>
    std::size_t call(std::size_t pieces, Suits&& suits, Signals& to_wake) {
        for (const auto wanted : {FetchPhase::looking, FetchPhase::asleep, FetchPhase::claimed}) {
            for (auto* waiter : waiters_) {
                if (pieces == 0) {
                    return 0;
                }
                if (waiter->phase == wanted && !waiter->called && suits(*waiter->request)) {
                    --pieces;
                    waiter->called = true;
                    if (wanted == FetchPhase::asleep) {
                        to_wake.push_back(waiter->sleeper->signal());
                    }
                }
            }
        }
        return pieces;
    }

    // When the next work falls due, as of the last look; it may be gone by now.
    [[nodiscard]] std::optional<SteadyInstant> due() const noexcept { return due_; }
    [[nodiscard]] bool is_due(SteadyInstant now) const { return due_ && *due_ <= now; }
    void note_due(SteadyInstant due) { due_ = std::min(due_.value_or(due), due); }
    // A waiter looks, and sees what is due by now.
    void looks(SteadyInstant now) {
        if (is_due(now)) {
            due_.reset();
        }
    }

    // Makes sure that a waiter looks at `due`.
    void cover(SteadyInstant due, Signals& to_wake) {
        note_due(due);
        FetchWaiter<Request>* candidate = nullptr;
        for (auto* waiter : waiters_) {
            if (waiter->phase == FetchPhase::looking || waiter->called ||
                (waiter->phase == FetchPhase::asleep && waiter->wakes_at <= due)) {
                return; // this one will look by then
            }
            // A claimed waiter may end empty-handed and sleep until this timer. If it is served,
            // Waiting::leave passes the timer on.
            const auto sleeps =
                waiter->phase == FetchPhase::asleep || waiter->phase == FetchPhase::claimed;
            candidate = sleeps ? waiter : candidate;
        }
        if (candidate != nullptr) {
            candidate->wakes_at = due; // woken now, to sleep no longer than that
            to_wake.push_back(candidate->sleeper->signal());
        }
    }
    // Will a sleeper wake up by then?
    [[nodiscard]] bool covered(SteadyInstant due) const {
        return std::ranges::any_of(waiters_, [&](const auto* waiter) {
            return waiter->phase == FetchPhase::asleep && waiter->wakes_at <= due;
        });
    }

 private:
    std::vector<FetchWaiter<Request>*> waiters_; // in order of arrival
    std::optional<SteadyInstant> due_;
};

} // namespace durable::sqlite
