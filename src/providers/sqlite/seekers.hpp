// Seekers: the threads in a fetch of one kind, and who of them gets what.
//
// Work that a transaction makes is handed to somebody who sleeps, in that very transaction. Where
// nobody sleeps, one who is looking is called to look again. One sleeper wakes up by itself when
// something falls due; the others sleep through.

#pragma once

#include "providers/sqlite/parker.hpp"
#include "providers/sqlite/transaction.hpp"

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

using Bells = std::vector<std::shared_ptr<Bell>>;

enum class Seeking : std::uint8_t {
    looking,
    asleep,
    claimed, // somebody else's transaction has, or tries to get, something for it
    served,  // and that is committed
};

struct SeekerState {
    Seeking seeking = Seeking::looking;
    bool was_called = false; // and has looked for it
    bool called = false;     // there is something to look for, and it has not looked since
    bool stands_by = false;  // its look is a part of the transaction under way, and still to come
    SteadyInstant wakes_at;  // by itself, while asleep
    std::unique_ptr<Parker> parker;
    // Gets something for it, inside a transaction of another thread.
    std::function<bool(Transaction&)> take;
};

template <class Request>
struct Seeker : SeekerState {
    using Fresh = std::conditional_t<std::is_same_v<Request, FetchWork>, FreshWork, FreshTurn>;

    const Request* request = nullptr;
    // The same with something that is not queued yet.
    std::function<bool(Transaction&, Fresh&)> take_fresh;
};

// All of it belongs to the mutex of Waiting.
template <class Request>
class Seekers {
 public:
    void add(Seeker<Request>& seeker) { seekers_.push_back(&seeker); }
    void remove(Seeker<Request>& seeker) { std::erase(seekers_, &seeker); }
    [[nodiscard]] bool empty() const noexcept { return seekers_.empty(); }

    // Whether there is nothing that the request could get: who may take the same sleeps, has been
    // handed nothing, and was not called to look; and nothing is due.
    [[nodiscard]] bool in_vain(const Request& request, SteadyInstant now) const {
        return !is_due(now) && std::ranges::any_of(seekers_, [&](const auto* seeker) {
            return seeker->seeking == Seeking::asleep && !seeker->called &&
                   !seeker->request->stop.stop_requested() &&
                   seek_the_same(*seeker->request, request);
        });
    }

    // Who `suits(request)` accepts and would get nothing otherwise; nullptr: nobody. Of those who
    // stand by the first, else the sleeper that would sleep longest: so the one that covers what
    // falls due is the last to go.
    template <class Suits>
    [[nodiscard]] Seeker<Request>* claim(Suits&& suits) {
        for (auto* seeker : seekers_) {
            if (seeker->stands_by && suits(*seeker->request)) {
                seeker->stands_by = false;
                return seeker;
            }
        }
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

    void nobody_stands_by() {
        for (auto* seeker : seekers_) {
            seeker->stands_by = false;
        }
    }

    // Wakes all of them, without a reason to look that they do not see themselves.
    void wake_all(Bells& to_wake) const {
        for (const auto* seeker : seekers_) {
            if (seeker->seeking == Seeking::asleep) {
                to_wake.push_back(seeker->parker->bell());
            }
        }
    }

    // Whether what one of them may take all of them may.
    [[nodiscard]] bool all_alike() const {
        return std::ranges::all_of(seekers_, [&](const auto* seeker) {
            return seek_the_same(*seeker->request, *seekers_.front()->request);
        });
    }

    // For up to `pieces` pieces of work: calls as many seekers, first those who are looking, last
    // those who may get something else meanwhile and then pass the call on. For how many there was
    // nobody to call.
    template <class Suits>
    std::size_t call(std::size_t pieces, Suits&& suits, Bells& to_wake) {
        for (const auto wanted : {Seeking::looking, Seeking::asleep, Seeking::claimed}) {
            for (auto* seeker : seekers_) {
                if (pieces == 0) {
                    return 0;
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
        return pieces;
    }

    // When the next thing falls due, as far as anybody has seen; it may be gone by now.
    [[nodiscard]] std::optional<SteadyInstant> due() const noexcept { return due_; }
    [[nodiscard]] bool is_due(SteadyInstant now) const { return due_ && *due_ <= now; }
    void note_due(SteadyInstant due) { due_ = std::min(due_.value_or(due), due); }
    // Somebody looks, and sees what is due by now.
    void looks(SteadyInstant now) {
        if (is_due(now)) {
            due_.reset();
        }
    }

    // Makes sure that somebody wakes up when something falls due.
    void cover(SteadyInstant due, Bells& to_wake) {
        note_due(due);
        Seeker<Request>* candidate = nullptr;
        for (auto* seeker : seekers_) {
            if (seeker->seeking == Seeking::looking || seeker->called ||
                (seeker->seeking == Seeking::asleep && seeker->wakes_at <= due)) {
                return; // this one will look
            }
            // Whoever is claimed may get nothing, and sleeps on; if it does, it passes this on.
            const auto sleeps =
                seeker->seeking == Seeking::asleep || seeker->seeking == Seeking::claimed;
            candidate = sleeps ? seeker : candidate;
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
    std::optional<SteadyInstant> due_;
};

} // namespace durable::sqlite
