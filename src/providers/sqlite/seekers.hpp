// Seekers: the threads in a fetch of one kind, and who of them gets what.
//
// Work that a transaction makes is handed to somebody who sleeps, in that very transaction. Where
// nobody sleeps, one who is looking is called to look again. One sleeper wakes up by itself when
// something falls due; the others sleep through.

#pragma once

#include "providers/sqlite/parker.hpp"
#include "providers/sqlite/transaction.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace durable::sqlite {

using Bells = std::vector<std::shared_ptr<Bell>>;

enum class Seeking : std::uint8_t {
    looking,
    asleep,
    claimed, // somebody else's transaction has, or tries to get, something for it
    served,  // and that is committed
};

struct SeekerState {
    Seeking seeking = Seeking::looking;
    bool called = false;    // there is something to look for
    SteadyInstant wakes_at; // by itself, while asleep
    std::unique_ptr<Parker> parker;
    // Gets something for it, inside a transaction of another thread.
    std::function<bool(Transaction&)> take;
};

template <class Request>
struct Seeker : SeekerState {
    const Request* request = nullptr;
};

// All of it belongs to the mutex of Waiting.
template <class Request>
class Seekers {
 public:
    void add(Seeker<Request>& seeker) { seekers_.push_back(&seeker); }
    void remove(Seeker<Request>& seeker) { std::erase(seekers_, &seeker); }
    [[nodiscard]] bool empty() const noexcept { return seekers_.empty(); }

    // The sleeper that `suits(request)` accepts and that would sleep longest, nullptr: there is
    // none. So the one that covers what falls due is the last to go.
    template <class Suits>
    [[nodiscard]] Seeker<Request>* claim(Suits&& suits) {
        Seeker<Request>* best = nullptr;
        for (auto* seeker : seekers_) {
            if (seeker->seeking == Seeking::asleep && !seeker->called &&
                (best == nullptr || seeker->wakes_at >= best->wakes_at) &&
                !seeker->request->stop.stop_requested() && suits(*seeker->request)) {
                best = seeker; // of equals the last: its core is warm
            }
        }
        if (best != nullptr) {
            best->seeking = Seeking::claimed;
        }
        return best;
    }

    // Wakes all of them, without a reason to look that they do not see themselves.
    void wake_all(Bells& to_wake) const {
        for (const auto* seeker : seekers_) {
            if (seeker->seeking == Seeking::asleep) {
                to_wake.push_back(seeker->parker->bell());
            }
        }
    }

    // For up to `pieces` pieces of work: calls as many seekers, first those who are looking.
    template <class Suits>
    void call(std::size_t pieces, Suits&& suits, Bells& to_wake) {
        for (const auto wanted : {Seeking::looking, Seeking::asleep}) {
            for (auto* seeker : seekers_) {
                if (pieces == 0) {
                    return;
                }
                if (seeker->seeking == wanted && !seeker->called && suits(*seeker->request)) {
                    --pieces;
                    seeker->called = true;
                    if (wanted == Seeking::asleep) {
                        to_wake.push_back(seeker->parker->bell());
                    }
                }
            }
        }
    }

    // Makes sure that somebody wakes up when something falls due.
    void cover(SteadyInstant due, Bells& to_wake) {
        Seeker<Request>* candidate = nullptr;
        for (auto* seeker : seekers_) {
            if (seeker->seeking == Seeking::looking || seeker->called ||
                (seeker->seeking == Seeking::asleep && seeker->wakes_at <= due)) {
                return; // this one will look
            }
            candidate = seeker->seeking == Seeking::asleep ? seeker : candidate;
        }
        if (candidate != nullptr) {
            candidate->wakes_at = due; // it wakes to sleep no longer than that
            to_wake.push_back(candidate->parker->bell());
        }
    }
    // Will somebody who sleeps wake up by then?
    [[nodiscard]] bool covered(SteadyInstant due) const {
        return std::ranges::any_of(seekers_, [&](const auto* seeker) {
            return seeker->seeking == Seeking::asleep && seeker->wakes_at <= due;
        });
    }

 private:
    std::vector<Seeker<Request>*> seekers_; // in the order in which they came
};

} // namespace durable::sqlite
