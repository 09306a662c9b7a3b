#include "runtime/lease_keeper.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace durable::runtime {

struct LeaseKeeper::State {
    explicit State(LeaseKind of) : kind{of} {}

    const LeaseKind kind;
    Mutex mutex; // never held during a call to the provider
    bool held DURABLE_GUARDED_BY(mutex) = false;
    bool lost DURABLE_GUARDED_BY(mutex) = false;
    std::uint64_t generation DURABLE_GUARDED_BY(mutex) = 0; // tells leases of one slot apart
    SteadyInstant due DURABLE_GUARDED_BY(mutex);
    std::string token DURABLE_GUARDED_BY(mutex);
    LeaseSubject subject DURABLE_GUARDED_BY(mutex);
    std::stop_source on_lost DURABLE_GUARDED_BY(mutex){std::nostopstate};
};

LeaseKeeper::LeaseKeeper(Services services, LeaseTiming turns, LeaseTiming activities)
    : services_{services}, turns_{turns}, activities_{activities} {}

LeaseKeeper::~LeaseKeeper() = default;

LeaseKeeper::Slot::Slot(LeaseKeeper& keeper, std::shared_ptr<State> state)
    : keeper_{&keeper}, state_{std::move(state)} {}

LeaseKeeper::Slot::~Slot() {
    if (state_) {
        const MutexLock lock{keeper_->mutex_};
        std::erase(keeper_->slots_, state_);
    }
}

void LeaseKeeper::Slot::hold(std::string token,
                             std::stop_source on_lost,
                             const LeaseSubject& subject) {
    const auto due =
        add_saturating(keeper_->services_.clock.steady(), keeper_->timing(state_->kind).interval);
    {
        const MutexLock lock{state_->mutex};
        DURABLE_CHECK(!state_->held, "a slot holds one lease at a time");
        state_->held = true;
        state_->lost = false;
        ++state_->generation;
        state_->due = due;
        state_->token = std::move(token);
        state_->subject = subject;
        state_->on_lost = std::move(on_lost);
    }
    keeper_->services_.agenda.at_latest(due);
}

void LeaseKeeper::Slot::release() {
    const MutexLock lock{state_->mutex};
    state_->held = false;
    state_->on_lost = std::stop_source{std::nostopstate};
}

bool LeaseKeeper::Slot::lost() const {
    const MutexLock lock{state_->mutex};
    return state_->lost;
}

LeaseKeeper::Slot LeaseKeeper::open_slot(LeaseKind kind) {
    auto state = std::make_shared<State>(kind);
    const MutexLock lock{mutex_};
    slots_.push_back(state);
    return Slot{*this, std::move(state)};
}

std::vector<LeaseKeeper::Held> LeaseKeeper::held(LeaseKind kind) {
    std::vector<Held> all;
    const MutexLock lock{mutex_};
    for (const auto& state : slots_) {
        const MutexLock state_lock{state->mutex};
        if (state->held && state->kind == kind) {
            all.push_back({.token = state->token, .subject = state->subject});
        }
    }
    return all;
}

const LeaseTiming& LeaseKeeper::timing(LeaseKind kind) const noexcept {
    return kind == LeaseKind::turn ? turns_ : activities_;
}

SteadyInstant LeaseKeeper::renew_due(Duration ahead) {
    const auto until = add_saturating(services_.clock.steady(), ahead);
    const auto all = collect_due(until);
    if (!all.empty()) {
        std::vector<LeaseRenewal> leases;
        leases.reserve(all.size());
        for (const auto& due : all) {
            const auto of = due.state->kind == LeaseKind::turn ? LeaseRenewal::Of::turn
                                                               : LeaseRenewal::Of::activity;
            const auto timeout = SteadyInstant{timing(due.state->kind).lock_timeout};
            leases.push_back({.of = of,
                              .lock_token = due.token,
                              .extend_for = add_saturating(timeout, ahead).time_since_epoch()});
        }
        const auto lost = services_.provider.renew_leases(leases);
        for (const auto& due : all) {
            note(due,
                 until,
                 lost && std::ranges::find(*lost, due.token) != lost->end(),
                 lost ? nullptr : &lost.error());
        }
    }
    return next_due();
}

std::vector<LeaseKeeper::Due> LeaseKeeper::collect_due(SteadyInstant until) {
    std::vector<Due> all;
    const MutexLock lock{mutex_};
    for (const auto& state : slots_) {
        const MutexLock state_lock{state->mutex};
        if (state->held && !state->lost && until >= state->due) {
            all.push_back({.state = state, .token = state->token, .generation = state->generation});
        }
    }
    return all;
}

SteadyInstant LeaseKeeper::next_due() {
    auto next = SteadyInstant::max();
    const MutexLock lock{mutex_};
    for (const auto& state : slots_) {
        const MutexLock state_lock{state->mutex};
        if (state->held && !state->lost) {
            next = std::min(next, state->due);
        }
    }
    return next;
}

void LeaseKeeper::note(const Due& due, SteadyInstant until, bool lost, const Error* error) {
    auto& state = *due.state;
    std::stop_source on_lost{std::nostopstate};
    {
        const MutexLock lock{state.mutex};
        if (!state.held || state.generation != due.generation) {
            return; // the work ended meanwhile
        }
        const auto interval = timing(state.kind).interval;
        if (lost) {
            state.lost = true;
            on_lost = state.on_lost;
        } else if (error != nullptr) {
            // No loss (T-24): there is time for more attempts before the lease ends.
            state.due =
                add_saturating(services_.clock.steady(), std::max(Duration{1}, interval / 4));
        } else {
            state.due = add_saturating(until, interval);
        }
    }
    if (lost || error != nullptr) {
        services_.observer.log(
            lost ? LogLevel::info : LogLevel::warn,
            {},
            lost ? "lease lost" : "lease not renewed, will try again",
            {{.name = "lock_token", .value = due.token},
             {.name = "error", .value = lost ? "lock_lost" : std::string_view{error->message}}});
    }
    if (on_lost.stop_possible()) {
        on_lost.request_stop();
    }
}

} // namespace durable::runtime
