#include "runtime/lease_keeper.hpp"

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
    std::vector<std::shared_ptr<State>> slots;
    {
        const MutexLock lock{mutex_};
        slots = slots_;
    }
    auto next = SteadyInstant::max();
    for (const auto& state : slots) {
        renew(*state, ahead);
        const MutexLock lock{state->mutex};
        if (state->held && !state->lost) {
            next = std::min(next, state->due);
        }
    }
    return next;
}

void LeaseKeeper::renew(State& state, Duration ahead) {
    const auto now = services_.clock.steady();
    const auto until = add_saturating(now, ahead);
    std::string token;
    std::uint64_t generation = 0;
    {
        const MutexLock lock{state.mutex};
        if (!state.held || state.lost || until < state.due) {
            return;
        }
        token = state.token;
        generation = state.generation;
    }
    const auto& [lock_timeout, interval] = timing(state.kind);
    const auto extend_for = add_saturating(SteadyInstant{lock_timeout}, ahead).time_since_epoch();
    const auto renewed = state.kind == LeaseKind::turn
                             ? services_.provider.renew_orchestration_item_lock(token, extend_for)
                             : services_.provider.renew_work_item_lock(token, extend_for);
    std::stop_source on_lost{std::nostopstate};
    {
        const MutexLock lock{state.mutex};
        if (!state.held || state.generation != generation) {
            return; // the work ended meanwhile: the answer concerns nobody
        }
        if (renewed || renewed.error().code != ErrorCode::lock_lost) {
            // After a storage error there is time for more attempts before the lease ends.
            state.due = renewed ? add_saturating(until, interval)
                                : add_saturating(now, std::max(Duration{1}, interval / 4));
        } else {
            state.lost = true;
            on_lost = state.on_lost;
        }
    }
    if (!renewed) {
        const bool gone = renewed.error().code == ErrorCode::lock_lost;
        services_.observer.log(gone ? LogLevel::info : LogLevel::warn,
                               {},
                               gone ? "lease lost" : "lease not renewed, will try again",
                               {{.name = "lock_token", .value = token},
                                {.name = "error", .value = renewed.error().message}});
    }
    if (on_lost.stop_possible()) {
        on_lost.request_stop();
    }
}

} // namespace durable::runtime
