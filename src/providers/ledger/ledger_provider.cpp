#include "providers/ledger/ledger_provider.hpp"

#include "base/try.hpp"
#include "providers/ledger/activities.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"

#include <algorithm>
#include <utility>

namespace durable::ledger {

LedgerProvider::LedgerProvider(ledger::Options options,
                               std::shared_ptr<Clock> clock,
                               std::shared_ptr<Random> random)
    : clock_{clock ? std::move(clock) : system_clock()},
      random_{random ? std::move(random) : system_random()},
      ledger_{options} {
    ledger_.listen(&waiters_);
}

Result<> LedgerProvider::journal(const Record&) {
    return {};
}

Result<> LedgerProvider::commit(Record record) {
    DURABLE_TRY(journal(record));
    ledger_.apply(std::move(record));
    return {};
}

Result<> LedgerProvider::commit_and_wake(Result<Record> record, const MutexLock& lock) {
    if (!record) {
        wake(lock); // even a refused call has looked at the time
        return std::unexpected{std::move(record).error()};
    }
    auto done = commit(*std::move(record));
    wake(lock);
    return done;
}

void LedgerProvider::wake(const MutexLock& lock) {
    cover_next_due(FetchOrchestration{});
    cover_next_due(durable::FetchWork{});
    waiters_.flush(lock);
}

Result<> LedgerProvider::expire() {
    while (auto record = expire_messages(ledger_, now())) {
        DURABLE_TRY(commit(*std::move(record)));
    }
    return {};
}

// ---- Waiting

std::optional<Duration> LedgerProvider::next_due(const FetchOrchestration&) {
    return ledger_.turns.until_next(now());
}

std::optional<Duration> LedgerProvider::next_due(const durable::FetchWork&) {
    return ledger_.work.until_next(now());
}

template <class Request>
void LedgerProvider::cover_next_due(const Request& request) {
    if (seekers(request).empty()) {
        return;
    }
    if (const auto due = next_due(request)) {
        seekers(request).cover(add_saturating(clock_->steady(), *due));
    }
}

// Answers what attempt(request) finds, at once or within the poll timeout.
template <class Request>
auto LedgerProvider::wait_for(const Request& request) {
    const auto deadline =
        add_saturating(clock_->steady(), std::max(request.poll_timeout, Duration::zero()));
    {
        const MutexLock lock{mutex_};
        Seeker<Request> self{.request = &request};
        seekers(request).add(self);
        auto found = attempt(request);
        seekers(request).remove(self);
        wake(lock);
        if (!found || *found || request.poll_timeout <= Duration::zero() ||
            request.stop.stop_requested()) {
            return found;
        }
    }
    return sleep_until(request, deadline);
}

template <class Request>
auto LedgerProvider::sleep_until(const Request& request, SteadyInstant deadline) {
    Sleeper sleeper{mutex_, *clock_, request.stop};
    const MutexLock lock{mutex_};
    Seeker<Request> self{.request = &request};
    seekers(request).add(self);
    for (;;) {
        self.called = false;
        auto found = attempt(request);
        const auto steady = clock_->steady();
        if (!found || *found || steady >= deadline || request.stop.stop_requested()) {
            seekers(request).remove(self);
            wake(lock);
            return found;
        }
        self.wakes_at = deadline;
        if (const auto due = next_due(request)) {
            const auto due_at = add_saturating(steady, *due);
            if (due_at < deadline && !seekers(request).covered(due_at)) {
                self.wakes_at = due_at;
            }
        }
        self.asleep = &sleeper;
        wake(lock);
        sleeper.sleep(lock, self.wakes_at - steady);
        self.asleep = nullptr;
    }
}

Result<std::optional<TurnOffer>> LedgerProvider::attempt(const FetchOrchestration& request) {
    DURABLE_TRY(expire());
    for (;;) {
        const auto moment = now();
        auto offer = offer_turn(ledger_, request, moment);
        if (!offer) {
            return std::nullopt;
        }
        DURABLE_TRY(commit(std::move(offer->record)));
        if (offer->item) {
            const auto until = add_saturating(moment.steady, request.lock_timeout);
            take_turn(ledger_, *offer, new_token(), until);
            return offer;
        }
    }
}

Result<std::optional<durable::WorkLease>>
LedgerProvider::attempt(const durable::FetchWork& request) {
    for (;;) {
        const auto moment = now();
        auto offer = offer_work(ledger_, request, moment);
        if (!offer) {
            return std::nullopt;
        }
        DURABLE_TRY(commit(std::move(offer->record)));
        if (offer->lease) {
            take_work(ledger_, *offer, request, new_token(), moment.steady);
            return std::move(offer->lease);
        }
    }
}

Result<std::optional<OrchestrationItem>>
LedgerProvider::fetch_orchestration_item(const FetchOrchestration& request) {
    if (request.filter && request.filter->supported.empty()) {
        return std::nullopt;
    }
    auto offer = wait_for(request);
    if (!offer) {
        return failed(std::move(offer).error(), "fetch_orchestration_item");
    }
    if (!*offer) {
        return std::nullopt;
    }
    return complete(**std::move(offer));
}

Result<std::optional<durable::WorkLease>>
LedgerProvider::fetch_work_item(const durable::FetchWork& request) {
    if (request.tags.mode() == TagFilter::Mode::none) {
        return std::nullopt;
    }
    auto lease = wait_for(request);
    if (!lease) {
        return failed(std::move(lease).error(), "fetch_work_item");
    }
    return lease;
}

Result<InstanceState> LedgerProvider::watch_instance(const WatchInstance& request) {
    const auto deadline =
        add_saturating(clock_->steady(), std::max(request.timeout, Duration::zero()));
    {
        const MutexLock lock{mutex_};
        if (request.timeout <= Duration::zero() || request.stop.stop_requested() ||
            ledger_.revision(request.instance) != request.seen_revision) {
            return state_of(ledger_, request.instance);
        }
    }
    Sleeper sleeper{mutex_, *clock_, request.stop};
    const MutexLock lock{mutex_};
    waiters_.add_watcher(request.instance, sleeper);
    for (;;) {
        const auto steady = clock_->steady();
        if (steady >= deadline || request.stop.stop_requested() ||
            ledger_.revision(request.instance) != request.seen_revision) {
            waiters_.remove_watcher(request.instance, sleeper);
            return state_of(ledger_, request.instance);
        }
        sleeper.sleep(lock, deadline - steady);
    }
}

// ---- Turns

Result<> LedgerProvider::ack_orchestration_item(const TurnCommit& commit) {
    const MutexLock lock{mutex_};
    return commit_and_wake(commit_turn(ledger_, commit, now()), lock);
}

Result<> LedgerProvider::abandon_orchestration_item(const std::string& lock_token,
                                                    std::optional<Duration> delay,
                                                    bool ignore_attempt) {
    const MutexLock lock{mutex_};
    return commit_and_wake(abandon_turn(ledger_, lock_token, delay, ignore_attempt, now()), lock);
}

Result<> LedgerProvider::renew_orchestration_item_lock(const std::string& lock_token,
                                                       Duration extend_for) {
    const MutexLock lock{mutex_};
    auto renewed = renew_turn(ledger_, lock_token, extend_for, now());
    wake(lock);
    return renewed;
}

Result<> LedgerProvider::append_with_execution(const std::string& instance,
                                               std::uint64_t execution_id,
                                               const std::vector<HistoryEvent>& events) {
    const MutexLock lock{mutex_};
    auto record = append_events(ledger_, instance, execution_id, events, now());
    if (!record) {
        return std::unexpected{std::move(record).error()};
    }
    if (!*record) {
        return {};
    }
    return commit_and_wake(**std::move(record), lock);
}

Result<> LedgerProvider::enqueue_for_orchestrator(const WorkItem& item,
                                                  std::optional<Duration> delay) {
    const MutexLock lock{mutex_};
    return commit_and_wake(enqueue_message(ledger_, item, delay, now()), lock);
}

// ---- Activities

Result<> LedgerProvider::enqueue_for_worker(const WorkItem& item) {
    const MutexLock lock{mutex_};
    return commit_and_wake(enqueue_work(ledger_, item, now()), lock);
}

Result<> LedgerProvider::ack_work_item(const std::string& lock_token,
                                       const std::optional<WorkItem>& completion) {
    const MutexLock lock{mutex_};
    return commit_and_wake(finish_work(ledger_, lock_token, completion, now()), lock);
}

Result<> LedgerProvider::renew_work_item_lock(const std::string& lock_token, Duration extend_for) {
    const MutexLock lock{mutex_};
    auto renewed = renew_work(ledger_, lock_token, extend_for, now());
    wake(lock);
    return renewed;
}

Result<> LedgerProvider::abandon_work_item(const std::string& lock_token,
                                           std::optional<Duration> delay,
                                           bool ignore_attempt) {
    const MutexLock lock{mutex_};
    return commit_and_wake(abandon_work(ledger_, lock_token, delay, ignore_attempt, now()), lock);
}

Result<std::uint64_t> LedgerProvider::renew_session_lock(const std::vector<std::string>& owner_ids,
                                                         Duration extend_for,
                                                         Duration idle_timeout) {
    const MutexLock lock{mutex_};
    const auto renewed = renew_sessions(ledger_, owner_ids, extend_for, idle_timeout, now());
    wake(lock);
    return renewed;
}

Result<std::uint64_t> LedgerProvider::cleanup_orphaned_sessions(Duration) {
    const MutexLock lock{mutex_};
    const auto forgotten = forget_sessions(ledger_, now());
    wake(lock);
    return forgotten;
}

} // namespace durable::ledger
