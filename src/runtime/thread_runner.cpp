#include "runtime/thread_runner.hpp"

#include "base/deadline.hpp"
#include "runtime/orchestration_dispatcher.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace durable::runtime {

namespace {

constexpr Duration last_moment{200};
constexpr Duration spare_after{1000};

} // namespace

ThreadRunner::ThreadRunner(std::unique_ptr<Node> node)
    : node_{std::move(node)},
      housekeeping_{*node_},
      renewals_{*node_},
      changed_{mutex_, *node_->clock} {
    housekeeping_.on_zombie = [this] {
        const MutexLock lock{mutex_};
        ++zombies_;
        if (waiting_ == 0) {
            grow();
        }
        changed_.notify_all(lock);
    };
}

ThreadRunner::~ThreadRunner() = default;

void ThreadRunner::start() {
    const auto self = shared_from_this();
    house_ = std::jthread{[self = this](const std::stop_token& stop) { self->keep_house(stop); }};
    leases_ = std::jthread{[self = this](const std::stop_token& stop) { self->keep_leases(stop); }};
    const MutexLock lock{mutex_};
    for (std::size_t i = 0; i < *node_->options.orchestration_threads; ++i) {
        const auto worker_id = "orch-" + std::to_string(i) + '-' + node_->id;
        spawn([self, worker_id] { self->run_engine(worker_id); });
    }
    grow();
}

void ThreadRunner::spawn(std::function<void()> body) {
    threads_.emplace_back();
    auto& thread = threads_.back();
    ++running_;
    try {
        thread.thread = std::jthread{[self = shared_from_this(), &thread, body = std::move(body)] {
            body();
            const MutexLock lock{self->mutex_};
            --self->running_;
            thread.done = true; // `thread` lives until it is joined, or as long as the runner
            self->changed_.notify_all(lock);
        }};
    } catch (const std::system_error&) {
        --running_;
        threads_.pop_back();
        throw;
    }
}

void ThreadRunner::grow() {
    if (stopping_ || activities_ >= allowed()) {
        return;
    }
    reap();
    const auto worker_id = "work-" + std::to_string(spawned_) + '-' + node_->id;
    ++activities_;
    ++spawned_;
    ++waiting_; // counted before it waits: otherwise the next call would start another one
    try {
        spawn([self = shared_from_this(), worker_id] { self->run_activities(worker_id); });
    } catch (const std::system_error&) {
        --activities_;
        --waiting_;
        if (activities_ == 0) {
            throw;
        }
        // Fewer threads than wanted still do all work.
    }
    node_->activity_thread_count = activities_;
}

void ThreadRunner::reap() {
    std::erase_if(threads_, [](const Thread& thread) { return thread.done; });
}

void ThreadRunner::run_engine(const std::string& worker_id) {
    OrchestrationDispatcher dispatcher{*node_, worker_id};
    const auto stop = stop_fetching_.get_token();
    while (!stop.stop_requested()) {
        const auto begun = node_->clock->steady();
        const auto result = dispatcher.step(node_->options.long_poll_timeout, stop);
        if (result.short_activity) {
            const MutexLock lock{mutex_};
            account(lock, *result.short_activity);
        }
        pace(result, begun);
    }
}

void ThreadRunner::run_activities(const std::string& worker_id) {
    ActivityDispatcher dispatcher{*node_, worker_id};
    const auto stop = stop_fetching_.get_token();
    bool ended = false;
    while (!ended && !stop.stop_requested()) { // counted as waiting
        const auto begun = node_->clock->steady();
        std::optional<WorkLease> lease;
        const auto fetched = dispatcher.fetch(node_->options.long_poll_timeout, stop, lease);
        if (lease) {
            {
                const MutexLock lock{mutex_};
                least_waiting_ = std::min(least_waiting_, --waiting_);
                if (waiting_ == 0) {
                    grow();
                }
            }
            ended = end_activity(dispatcher.run(*std::move(lease)));
            continue;
        }
        if (fetched.step == Step::idle) {
            const MutexLock lock{mutex_};
            ended = waiting_ > 1; // one waiting thread is enough
            if (ended) {
                uncount(); // under the same lock: of two threads that end, one must stay
            }
        }
        if (!ended) {
            pace(fetched, begun);
        }
    }
    if (!ended) {
        const MutexLock lock{mutex_};
        uncount();
    }
}

bool ThreadRunner::end_activity(Ran ran) {
    const MutexLock lock{mutex_};
    ++waiting_;
    account(lock, ran);
    // When a zombie comes back, the thread that replaced it is one too many.
    const bool ends = activities_ > allowed() || is_spare();
    if (ends) {
        uncount();
    }
    return ends;
}

// A store may wake its waiters in turn, so that little work keeps every thread from being idle for
// a whole poll. So threads that were not needed at the busiest moment of an interval end.
bool ThreadRunner::is_spare() {
    const auto now = node_->clock->steady();
    if (now >= next_count_) {
        spare_ = least_waiting_ > 1 ? least_waiting_ - 1 : 0;
        least_waiting_ = waiting_;
        next_count_ = add_saturating(now, spare_after);
    }
    if (spare_ == 0 || waiting_ < 2) {
        return false;
    }
    --spare_;
    return true;
}

void ThreadRunner::uncount() {
    --waiting_;
    --activities_;
    node_->activity_thread_count = activities_;
}

void ThreadRunner::account(const MutexLock& lock, Ran ran) {
    if (ran == Ran::zombie || ran == Ran::late) {
        --zombies_;
        progress_.forced += ran == Ran::late ? 1 : 0; // it stopped before the report was made
        changed_.notify_all(lock);
    } else if (stopping_) {
        progress_.drained += ran == Ran::finished ? 1 : 0;
        progress_.forced += ran == Ran::interrupted ? 1 : 0;
        changed_.notify_all(lock);
    }
}

std::size_t ThreadRunner::allowed() const {
    return node_->options.activity_threads + std::min(zombies_, node_->options.max_zombies);
}

void ThreadRunner::pace(const StepResult& result, SteadyInstant begun) {
    auto wait = result.pause;
    if (result.step == Step::idle) {
        const auto& clock = *node_->clock;
        const auto least = node_->options.min_poll_interval;
        wait = wait_from(begun, rounding_of(clock), least) - clock.steady();
    }
    if (result.step != Step::worked && wait > Duration::zero()) {
        static_cast<void>(node_->pause(wait, stop_fetching_.get_token()));
    }
}

void ThreadRunner::keep_house(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        node_->agenda.sleep_until(housekeeping_.step(), stop);
    }
}

void ThreadRunner::keep_leases(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        node_->lease_agenda.sleep_until(renewals_.step(), stop);
    }
}

ShutdownReport ThreadRunner::shutdown(Duration timeout) {
    auto& clock = *node_->clock;
    {
        const MutexLock lock{mutex_};
        while (stopping_ && !report_) {
            changed_.wait(lock, Duration::max());
        }
        if (report_) {
            return *report_;
        }
        stopping_ = true;
    }
    node_->observer.log(
        LogLevel::info,
        {},
        "runtime stops",
        {{.name = "runtime", .value = node_->id},
         {.name = "activities", .value = std::to_string(node_->activities.size())}});
    const auto half = deadline_after(clock, timeout / 2);
    const auto end = deadline_after(clock, timeout);
    stop_fetching_.request_stop();
    bool in_time = wait_for_threads(half);
    if (!in_time) {
        node_->activities.stop_all();
        in_time = wait_for_threads(end);
    }
    bool only_zombies = in_time;
    if (!in_time) {
        leave_behind();
        // Threads that were only retrying end now.
        only_zombies = wait_for_threads(deadline_after(clock, last_moment));
    }
    for (auto* thread : {&house_, &leases_}) {
        if (thread->joinable()) {
            thread->request_stop();
            thread->join();
        }
    }
    const auto turns = only_zombies ? 0 : leave_turns_behind();
    release_sessions();
    node_->frames.clear("shutdown");

    std::list<Thread> ended;
    const MutexLock lock{mutex_};
    for (auto each = threads_.begin(); each != threads_.end();) {
        const auto thread = each++;
        if (thread->done) {
            ended.splice(ended.end(), threads_, thread);
        } else {
            thread->thread.detach(); // its destructor would join; the thread owns the runner
        }
    }
    if (only_zombies) {
        // A zombie that came back a moment ago counts as forced, though its thread may not be done.
        progress_.leaked = zombies_;
    } else {
        progress_.leaked_turns = std::min(turns, running_ - std::min(running_, zombies_));
        progress_.leaked = running_ - progress_.leaked_turns;
    }
    progress_.in_time = in_time;
    report_ = progress_;
    changed_.notify_all(lock);
    return *report_;
}

bool ThreadRunner::wait_for_threads(SteadyInstant until) {
    const MutexLock lock{mutex_};
    while (running_ > zombies_) {
        const auto now = node_->clock->steady();
        if (now >= until) {
            return false;
        }
        changed_.wait(lock, until - now);
    }
    return true;
}

// The shutdown waits for no activity any more. It gives those that still run back, so that another
// runtime runs them at once; their threads may end later, or never.
void ThreadRunner::leave_behind() {
    node_->force_stop.request_stop();
    for (const auto& activity : node_->activities.take_all()) {
        node_->observer.log(
            LogLevel::error,
            {.instance = activity.id.instance, .execution_id = activity.id.execution_id},
            "an activity did not stop for the shutdown; its thread is left behind",
            {{.name = "activity", .value = activity.name}});
        const auto given =
            node_->provider->abandon_work_item(activity.lock_token, std::nullopt, true);
        if (!given) {
            node_->observer.log(LogLevel::warn,
                                {.instance = activity.id.instance},
                                "cannot give an activity back",
                                {{.name = "error", .value = given.error().message}});
        }
        const MutexLock lock{mutex_};
        ++zombies_;
    }
}

// The code of a turn cannot be asked to stop. P3: after giving back its lease, a later commit of
// it is refused.
std::size_t ThreadRunner::leave_turns_behind() {
    const auto turns = node_->leases.held(LeaseKind::turn);
    for (const auto& [token, subject] : turns) {
        const observability::Where where{.instance = subject.instance,
                                         .execution_id = subject.execution_id};
        node_->observer.log(LogLevel::error,
                            where,
                            "an orchestration did not return for the shutdown; its thread is left "
                            "behind");
        const auto given = node_->provider->abandon_orchestration_item(
            {.lock_token = token, .delay = std::nullopt, .ignore_attempt = true});
        if (!given && given.error().code != ErrorCode::lock_lost) {
            node_->observer.log(LogLevel::warn,
                                where,
                                "cannot give a turn back",
                                {{.name = "error", .value = given.error().message}});
        }
    }
    return turns.size();
}

// A node with a stable id gets its sessions back after a restart; the sessions of other nodes are
// released for other workers.
void ThreadRunner::release_sessions() {
    if (node_->options.worker_node_id || node_->options.activity_threads == 0U) {
        return;
    }
    const auto released = node_->provider->renew_session_lock(
        {node_->session_owner}, Duration::zero(), node_->options.session_idle_timeout);
    if (!released) {
        node_->observer.log(LogLevel::warn,
                            {},
                            "cannot release sessions",
                            {{.name = "error", .value = released.error().message}});
    }
}

} // namespace durable::runtime
