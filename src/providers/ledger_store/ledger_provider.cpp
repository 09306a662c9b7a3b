#include "providers/ledger_store/ledger_provider.hpp"

#include "base/deadline.hpp"
#include "base/stay_awake.hpp"
#include "base/try.hpp"
#include "providers/ledger/activities.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace durable::ledger {

namespace {

bool has_work(Ledger& ledger, const FetchOrchestration& request, Instant now) {
    return ledger.turns.first_ready(request, now) != nullptr;
}

bool has_work(Ledger& ledger, const durable::FetchWork& request, Instant) {
    return ledger.work.first_ready(request) != nullptr;
}

// P16: the end of a suspect's lease in one queue may free a suspect in the other.
std::optional<Duration> sooner(std::optional<Duration> one, std::optional<Duration> other) {
    return one && other ? std::min(*one, *other) : (one ? one : other);
}

// For a waiter that was called and takes nothing: another fetch may have taken its work. Calls a
// waiter for the work that is left.
template <class Request>
void pass_on(Ledger& ledger, FetchWaiters<Request>& waiters, Instant now) {
    waiters.call(1, [&](const Request& request) { return has_work(ledger, request, now); });
}

// A value that a call makes before it locks the mutex; made again where the call runs again.
template <class Make>
class MadeBefore {
 public:
    explicit MadeBefore(Make make) : make_{std::move(make)}, made_{make_()} {}

    [[nodiscard]] auto take() {
        auto taken = made_ ? *std::move(made_) : make_();
        made_.reset();
        return taken;
    }

 private:
    Make make_;
    std::optional<decltype(std::declval<Make&>()())> made_;
};

} // namespace

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

std::uint64_t LedgerProvider::position() const {
    return 0;
}

Result<> LedgerProvider::wait_until_safe(AnswerKind, std::uint64_t, Seq) {
    return {};
}

// P2: the record as a whole is journaled, then applied; or neither.
Result<> LedgerProvider::commit(Record record) {
    DURABLE_TRY(journal(record));
    ledger_.apply(std::move(record));
    applied();
    return {};
}

void LedgerProvider::wake(const MutexLock& lock) {
    if (checks_all_.load(std::memory_order_relaxed)) {
        ledger_.check();
    }
    ledger_.announce_suspects();
    cover_next_due(FetchOrchestration{});
    cover_next_due(durable::FetchWork{});
    waiters_.flush(lock);
    answer_watchers(lock);
}

template <class Decide>
Result<> LedgerProvider::carry_out(std::string_view operation, AnswerKind kind, Decide&& decide) {
    std::uint64_t reached = 0;
    auto done = with_all_here([&](const MutexLock& lock) {
        mutex_.assert_held();
        Result<Record> record = decide(ledger_);
        auto committed = looked();
        if (committed) {
            committed =
                record ? commit(*std::move(record)) : std::unexpected{std::move(record).error()};
        }
        if (kind == AnswerKind::done && waiters_.turns.any_called()) {
            kind = AnswerKind::done_and_called;
        }
        wake(lock); // also after a refusal: advance() may have made work ready
        reached = position();
        return committed;
    });
    if (!done) {
        return failed(std::move(done).error(), operation);
    }
    if (auto safe = wait_until_safe(kind, reached, 0); !safe) {
        return failed(std::move(safe).error(), operation);
    }
    return {};
}

template <class Change>
auto LedgerProvider::change(Change&& change) {
    const MutexLock lock{mutex_};
    auto answer = change(ledger_);
    wake(lock);
    return answer;
}

Result<> LedgerProvider::expire() {
    while (auto record = expire_messages(ledger_, now())) {
        DURABLE_TRY(commit(*std::move(record)));
    }
    return {};
}

// ---- Waiting

FetchWaiters<FetchOrchestration>& LedgerProvider::fetch_waiters(const FetchOrchestration&) {
    return waiters_.turns;
}

FetchWaiters<durable::FetchWork>& LedgerProvider::fetch_waiters(const durable::FetchWork&) {
    return waiters_.work;
}

std::optional<Duration> LedgerProvider::next_due(const FetchOrchestration&) {
    const auto turns = ledger_.turns.until_next(now());
    return ledger_.suspects.held > 0 ? sooner(turns, ledger_.work.until_next(now())) : turns;
}

std::optional<Duration> LedgerProvider::next_due(const durable::FetchWork&) {
    const auto work = ledger_.work.until_next(now());
    return ledger_.suspects.held > 0 ? sooner(work, ledger_.turns.until_next(now())) : work;
}

template <class Request>
void LedgerProvider::cover_next_due(const Request& request) {
    if (fetch_waiters(request).empty()) {
        return;
    }
    if (const auto due = next_due(request)) {
        fetch_waiters(request).cover(add_saturating(clock_->steady(), *due));
    }
}

// P11: answers what attempt(request) finds, at once or within the poll timeout.
template <class Request>
auto LedgerProvider::wait_for(const Request& request) {
    const auto deadline = deadline_after(*clock_, std::max(request.poll_timeout, Duration::zero()));
    {
        const MutexLock lock{mutex_};
        if (request.stop.stop_requested()) {
            return decltype(attempt(request)){std::nullopt};
        }
        FetchWaiter<Request> self{.request = &request};
        fetch_waiters(request).add(self);
        auto found = attempt(request);
        fetch_waiters(request).remove(self);
        if (self.called && (!found || !*found)) {
            pass_on(ledger_, fetch_waiters(request), clock_->now());
        }
        wake(lock);
        if (!found || *found || request.poll_timeout <= Duration::zero()) {
            return found;
        }
    }
    auto found = wait_awake(request);
    if (!found || *found) {
        return found;
    }
    return sleep_until(request, deadline);
}

// Waking an engine thread takes longer than its turn: on a virtual machine 30 to 60 µs when the
// core sleeps. After a turn the next one often comes within a sync or two, so one thread spins for
// that long and need not be woken.
Result<std::optional<TurnOffer>> LedgerProvider::wait_awake(const FetchOrchestration& request) {
    using namespace std::chrono_literals;
    constexpr int not_worth_it = 8;
    if (waits_to_sleep_.load(std::memory_order_relaxed) > 0) {
        waits_to_sleep_.fetch_sub(1, std::memory_order_relaxed);
        return std::nullopt;
    }
    if (!may_stay_awake() || one_is_awake_.exchange(true)) {
        return std::nullopt;
    }
    FetchWaiter<FetchOrchestration> self{.request = &request};
    {
        const MutexLock lock{mutex_};
        waiters_.turns.add(self);
        auto found = attempt(request);
        if (!found || *found) {
            one_is_awake_.store(false);
            waiters_.turns.remove(self);
            wake(lock);
            return found;
        }
        wake(lock);
    }
    const auto called = [&] {
        return self.called.load(std::memory_order_acquire) || request.stop.stop_requested();
    };
    if (!stay_awake_until(called, {.longest = 700us, .others_run = 200us})) {
        waits_to_sleep_.store(not_worth_it, std::memory_order_relaxed);
    }
    one_is_awake_.store(false);
    const MutexLock lock{mutex_};
    waiters_.turns.remove(self);
    Result<std::optional<TurnOffer>> found{std::nullopt};
    if (self.called && !request.stop.stop_requested()) {
        found = attempt(request);
    }
    if (self.called && (!found || !*found)) {
        pass_on(ledger_, waiters_.turns, clock_->now());
    }
    wake(lock);
    return found;
}

template <class Request>
auto LedgerProvider::sleep_until(const Request& request, SteadyInstant deadline) {
    Sleeper sleeper{*clock_, request.stop};
    const MutexLock lock{mutex_};
    FetchWaiter<Request> self{.request = &request};
    auto& others = fetch_waiters(request);
    others.add(self);
    while (!request.stop.stop_requested()) {
        const bool was_called = self.called;
        others.look_again(self);
        const auto steady = clock_->steady();
        auto found = attempt(request);
        const bool ends = !found || *found || steady >= deadline;
        if (ends) {
            others.remove(self);
        }
        if ((was_called || self.called) && (!found || !*found)) {
            pass_on(ledger_, others, clock_->now());
        }
        if (ends) {
            wake(lock);
            return found;
        }
        self.wakes_at = deadline;
        if (const auto due = next_due(request)) {
            const auto due_at = add_saturating(steady, *due);
            if (due_at < deadline && !others.covered(due_at)) {
                self.wakes_at = due_at;
            }
        }
        self.asleep = &sleeper;
        wake(lock);
        sleeper.sleep(lock, self.wakes_at - steady);
    }
    others.remove(self);
    if (self.called) {
        pass_on(ledger_, others, clock_->now());
    }
    wake(lock);
    return decltype(attempt(request)){std::nullopt};
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
            const auto until = moment.steady_after(request.lock_timeout);
            take_turn(ledger_, *offer, new_token(), until);
            offer->reached = position();
            return offer;
        }
    }
}

Result<std::optional<WorkOffer>> LedgerProvider::attempt(const durable::FetchWork& request) {
    for (;;) {
        const auto moment = now();
        auto offer = offer_work(ledger_, request, moment);
        if (!offer) {
            return std::nullopt;
        }
        DURABLE_TRY(commit(std::move(offer->record)));
        if (offer->lease) {
            take_work(ledger_, *offer, request, new_token(), moment);
            offer->reached = position();
            return offer;
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
    if (auto safe = wait_until_safe(AnswerKind::turn_given, (*offer)->reached, 0); !safe) {
        take_back(**offer);
        return failed(std::move(safe).error(), "fetch_orchestration_item");
    }
    return complete(**std::move(offer));
}

Result<std::optional<durable::WorkLease>>
LedgerProvider::fetch_work_item(const durable::FetchWork& request) {
    if (request.tags.mode() == TagFilter::Mode::none) {
        return std::nullopt;
    }
    auto offer = wait_for(request);
    if (!offer) {
        return failed(std::move(offer).error(), "fetch_work_item");
    }
    if (!*offer) {
        return std::nullopt;
    }
    if (auto safe = wait_until_safe(AnswerKind::work_given, (*offer)->reached, (*offer)->seq);
        !safe) {
        take_back(**offer);
        return failed(std::move(safe).error(), "fetch_work_item");
    }
    return std::move((*offer)->lease);
}

// P13: the fetch answers an error, so its caller cannot abandon the lease: it is released at once.
// The attempt stays counted, since its record is journaled.
void LedgerProvider::take_back(const TurnOffer& offer) {
    const MutexLock lock{mutex_};
    const auto token = Token::parse(offer.item->lock_token);
    if (const auto* lease = token ? ledger_.turns.find_lease(*token) : nullptr; lease != nullptr) {
        auto& instance = *lease->instance;
        ledger_.turns.hold(instance);
        ledger_.turns.release(instance);
        ledger_.turns.file(instance);
    }
    wake(lock);
}

void LedgerProvider::take_back(const WorkOffer& offer) {
    const MutexLock lock{mutex_};
    const auto token = Token::parse(offer.lease->lock_token);
    if (const auto* lease = token ? ledger_.work.find_lease(*token) : nullptr; lease != nullptr) {
        auto& entry = *lease->entry;
        ledger_.work.put_back(entry, entry.visible_at, clock_->now());
    }
    wake(lock);
}

// ---- Turns

Result<> LedgerProvider::ack_orchestration_item(const TurnCommit& commit) {
    MadeBefore prepared{[&] { return prepare_turn(commit); }};
    return carry_out("ack_orchestration_item", AnswerKind::turn_done, [&](Ledger& ledger) {
        return commit_turn(ledger, commit, prepared.take(), now());
    });
}

Result<> LedgerProvider::abandon_orchestration_item(const AbandonTurn& abandon) {
    return carry_out("abandon_orchestration_item", AnswerKind::turn_done, [&](Ledger& ledger) {
        return abandon_turn(ledger, abandon, now());
    });
}

Result<> LedgerProvider::renew_orchestration_item_lock(const std::string& lock_token,
                                                       Duration extend_for) {
    return change(
        [&](Ledger& ledger) { return renew_turn(ledger, lock_token, extend_for, now()); });
}

Result<std::vector<std::string>>
LedgerProvider::renew_leases(const std::vector<LeaseRenewal>& leases) {
    return change([&](Ledger& ledger) -> Result<std::vector<std::string>> {
        const auto moment = now();
        std::vector<std::string> lost;
        for (const auto& [of, token, extend_for] : leases) {
            const auto renewed = of == LeaseRenewal::Of::turn
                                     ? renew_turn(ledger, token, extend_for, moment)
                                     : renew_work(ledger, token, extend_for, moment);
            if (!renewed) { // P3: only lock_lost is possible
                lost.push_back(token);
            }
        }
        return lost;
    });
}

Result<> LedgerProvider::append_with_execution(const std::string& instance,
                                               std::uint64_t execution_id,
                                               const std::vector<HistoryEvent>& events) {
    if (events.empty()) {
        return {};
    }
    MadeBefore made{[&] { return to_events(events); }};
    return carry_out("append_with_execution", AnswerKind::done, [&](Ledger& ledger) {
        return append_events(ledger, instance, execution_id, made.take(), now());
    });
}

Result<> LedgerProvider::start_instance(const work::StartOrchestration& start,
                                        std::optional<Duration> delay) {
    MadeBefore message{[&] { return to_message(start); }};
    return carry_out("start_instance", AnswerKind::done, [&](Ledger& ledger) {
        return ledger::start_instance(ledger, start, message.take(), delay, now());
    });
}

Result<> LedgerProvider::enqueue_for_orchestrator(const WorkItem& item,
                                                  std::optional<Duration> delay) {
    MadeBefore message{[&] { return to_message(item); }};
    return carry_out("enqueue_for_orchestrator", AnswerKind::done, [&](Ledger& ledger) {
        return enqueue_message(ledger, item, message.take(), delay, now());
    });
}

// ---- Activities

Result<> LedgerProvider::enqueue_for_worker(const WorkItem& item) {
    MadeBefore added{[&] { return to_work(item); }};
    return carry_out("enqueue_for_worker", AnswerKind::done, [&](Ledger& ledger) {
        return enqueue_work(ledger, added.take(), now());
    });
}

Result<> LedgerProvider::ack_work_item(const std::string& lock_token,
                                       const std::optional<WorkItem>& completion) {
    MadeBefore end{[&] { return to_completion(completion); }};
    return carry_out("ack_work_item", AnswerKind::work_done, [&](Ledger& ledger) {
        return finish_work(ledger, lock_token, end.take(), now());
    });
}

Result<> LedgerProvider::renew_work_item_lock(const std::string& lock_token, Duration extend_for) {
    return change(
        [&](Ledger& ledger) { return renew_work(ledger, lock_token, extend_for, now()); });
}

Result<> LedgerProvider::abandon_work_item(const std::string& lock_token,
                                           std::optional<Duration> delay,
                                           bool ignore_attempt) {
    return carry_out("abandon_work_item", AnswerKind::work_done, [&](Ledger& ledger) {
        return abandon_work(ledger, lock_token, delay, ignore_attempt, now());
    });
}

Result<std::uint64_t> LedgerProvider::renew_session_lock(const std::vector<std::string>& owner_ids,
                                                         Duration extend_for,
                                                         Duration idle_timeout) {
    return change([&](Ledger& ledger) {
        return renew_sessions(ledger, owner_ids, extend_for, idle_timeout, now());
    });
}

Result<std::uint64_t> LedgerProvider::cleanup_orphaned_sessions(Duration) {
    return change([&](Ledger& ledger) { return forget_sessions(ledger, now()); });
}

} // namespace durable::ledger
