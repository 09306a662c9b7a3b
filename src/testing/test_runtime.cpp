#include "base/timestamp.hpp"
#include "runtime/housekeeping.hpp"
#include "runtime/node.hpp"
#include "runtime/orchestration_dispatcher.hpp"
#include "runtime/renewals.hpp"
#include "testing/deadline_provider.hpp"

#include <durable/history_testing.hpp>
#include <durable/memory.hpp>
#include <durable/provider_admin.hpp>
#include <durable/test_runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace durable {

namespace {

RuntimeOptions on_clock(RuntimeOptions options, const std::shared_ptr<ManualClock>& clock) {
    options.clock = clock;
    return options;
}

void check(const Registry& registry, const RuntimeOptions& options) {
    if (const auto valid = runtime::check(registry, options); !valid) {
        throw std::invalid_argument{valid.error().message};
    }
}

// "400 days": in the largest unit that divides it.
std::string text_of(Duration duration) {
    struct Unit {
        Duration length;
        std::string_view name;
    };
    constexpr std::array units{Unit{std::chrono::hours{24}, " days"},
                               Unit{std::chrono::hours{1}, " h"},
                               Unit{std::chrono::minutes{1}, " min"},
                               Unit{std::chrono::seconds{1}, " s"},
                               Unit{Duration{1}, " ms"}};
    if (duration == Duration::max()) {
        return "all time there is";
    }
    const auto* const unit = std::ranges::find_if(units, [&](const Unit& each) {
        return duration >= each.length && duration % each.length == Duration::zero();
    });
    return unit == units.end() ? std::string{"0 ms"}
                               : std::to_string(duration / unit->length).append(unit->name);
}

// "2026-11-13T08:53:20.000Z, in 400 days". Calendars end with the year 9999.
std::string text_of(Instant moment, Instant now) {
    constexpr auto year_10000 = std::chrono::sys_days{std::chrono::year{10000} / 1 / 1};
    return moment < year_10000 ? timestamp(moment) + ", in " + text_of(moment - now)
                               : "after the year 9999";
}

// "the activity 'Watch' of order-7". Of an activity that swallowed the exception, only the instance
// is known.
std::string text_of(const testing::DeadlineProvider::Interrupted& each) {
    return (each.activity.empty() ? "an activity" : "the activity '" + each.activity + "'") +
           " of " + each.instance;
}

} // namespace

struct TestRuntime::Parts {
    Parts(Registry registry, Options options)
        : max_steps{options.max_steps},
          clock{options.clock ? std::move(options.clock) : std::make_shared<ManualClock>()},
          store{options.provider ? std::move(options.provider) : memory::open({.clock = clock})},
          deadlines{std::make_shared<testing::DeadlineProvider>(store, clock)},
          provider{deadlines},
          node{provider,
               std::move(registry),
               on_clock(std::move(options.runtime), clock),
               [this](Duration duration, const std::stop_token& stop) {
                   return skip(duration, stop);
               }},
          housekeeping{node},
          renewals{node},
          turns{node, "test-orchestrations"},
          turns_beside{node, "test-orchestrations-beside"},
          activities{node, "test-activities"} {
        deadlines->learn();
        deadlines->set_code(node.orchestration_code);
    }

    void keep_up() {
        renewals.step();
        housekeeping.step();
    }

    // Moves the clock instead of waiting, and renews leases meanwhile. While an activity sleeps, it
    // stops wherever orchestrations can go on, and runs them: they may cancel the activity.
    bool skip(Duration duration, const std::stop_token& stop) {
        constexpr auto most_stops = 1000;
        const bool of_activity = is_of_activity(stop);
        const bool beside = of_activity && !running_beside;
        const auto wanted = add_saturating(clock->steady(), duration);
        const auto until = of_activity ? std::min(wanted, limit.at) : wanted;
        const auto stride = (until - clock->steady()) / most_stops;
        keep_up();
        while (!stop.stop_requested()) {
            if (of_activity) {
                count_sleep();
            }
            if (beside) {
                run_turns_beside();
            }
            const auto now = clock->steady();
            if (stop.stop_requested() || now >= until) {
                break;
            }
            const auto due = beside ? deadlines->next() : std::nullopt;
            if (of_activity && until == SteadyInstant::max() &&
                due.value_or(Instant::max()) == Instant::max()) {
                throw std::runtime_error{
                    "it sleeps for ever, and nothing is due that could stop it"};
            }
            auto next = std::min(renewals.keep_over(until - now, stride), until);
            if (due) {
                next = std::min(next, add_saturating(now, *due - clock->now()));
            }
            clock->advance(next - now);
        }
        keep_up();
        if (until < wanted && !stop.stop_requested()) {
            deadlines->interrupt();
            throw std::runtime_error{"it sleeps beyond " + limit.text +
                                     ", and will be run again by the next call"};
        }
        return !stop.stop_requested();
    }

    // Pauses without an activity's stop token wait for the store to recover.
    [[nodiscard]] bool is_of_activity(const std::stop_token& stop) const {
        return stop.stop_possible() && stop != node.force_stop.get_token();
    }

    void count_sleep() {
        if (++sleeps > max_steps) {
            throw std::runtime_error{
                "it still sleeps after " + std::to_string(max_steps) +
                " steps (TestRuntime::Options::max_steps). Activities run one after the other "
                "under TestRuntime: one that waits for another waits for ever"};
        }
    }

    // Not nested: while a short activity of such a turn sleeps, no further turns run.
    void run_turns_beside() {
        if (node.options.orchestration_threads == 0U) {
            return;
        }
        running_beside = true;
        std::size_t steps = 0;
        while (steps <= max_steps &&
               turns_beside.step(Duration::zero(), {}).step == runtime::Step::worked) {
            ++steps;
        }
        running_beside = false;
        if (steps > max_steps) {
            throw std::runtime_error{"beside it, it " + restless()};
        }
    }

    // To a moment of the wall clock. False: the clock's range ends before it.
    bool skip_to(Instant moment) {
        const auto before = clock->now();
        skip(moment - before, {});
        return clock->now() > before;
    }

    [[nodiscard]] std::string restless() const {
        return "does not come to rest: " + std::to_string(max_steps) +
               " turns and activities without time passing (TestRuntime::Options::max_steps). Does "
               "an orchestration continue as new for ever?";
    }

    // The first parked instance that is `id` or a descendant of it; nullptr: none.
    [[nodiscard]] const ParkedInstance* parked_in_tree(const std::string& id,
                                                       const std::vector<ParkedInstance>& parked) {
        const auto found = std::ranges::find_if(parked, [&](const ParkedInstance& each) {
            return each.reason == ParkReason::differs && belongs_to(each.instance, id);
        });
        return found == parked.end() ? nullptr : &*found;
    }

    // The code that `id` or a descendant of it needs, and that is not registered here.
    [[nodiscard]] std::optional<std::string> missing_code_in_tree(const std::string& id) {
        auto* const admin = store->as_management_capability();
        const auto waiting = admin != nullptr ? admin->list_parked(Duration::zero(), 1000)
                                              : Result<std::vector<ParkedWork>>{};
        for (const auto& each : waiting.value_or(std::vector<ParkedWork>{})) {
            const bool turn = each.kind == ParkedWork::Kind::turn;
            const bool known = turn ? node.orchestration_code->has(each.name, each.version)
                                    : node.activity_code->contains(each.name);
            // An instance before its first turn has no stored parent yet: it may be a descendant.
            const bool unborn = !admin->get_parent_id(each.instance);
            if (!each.name.empty() && !known && (unborn || belongs_to(each.instance, id))) {
                return each.instance + " needs the " + (turn ? "orchestration " : "activity ") +
                       each.name + (each.version.empty() ? "" : " " + each.version) +
                       ", which is not in the registry of this TestRuntime";
            }
        }
        return std::nullopt;
    }

    bool belongs_to(std::string instance, const std::string& root) {
        auto* const admin = store->as_management_capability();
        while (instance != root) {
            const auto parent = admin != nullptr ? admin->get_parent_id(instance)
                                                 : Result<std::optional<std::string>>{};
            if (!parent || !*parent) {
                return false;
            }
            instance = **parent;
        }
        return true;
    }

    bool run_turn() {
        sleeps = 0;
        return turns.step(Duration::zero(), {}).step == runtime::Step::worked;
    }

    // An activity that calls this runs beside the next one: that one needs a dispatcher of its own,
    // because a dispatcher holds one lease at a time.
    bool run_activity() {
        sleeps = 0;
        if (node.options.activity_threads == 0U) {
            return false;
        }
        const auto step = [](runtime::ActivityDispatcher& dispatcher) {
            return dispatcher.step(Duration::zero(), {}).step == runtime::Step::worked;
        };
        if (running_activity) {
            runtime::ActivityDispatcher beside{node, "test-activities-beside"};
            return step(beside);
        }
        struct Running {
            explicit Running(bool& its_flag) : flag{its_flag} { flag = true; }
            Running(const Running&) = delete;
            Running& operator=(const Running&) = delete;
            ~Running() { flag = false; }
            bool& flag;
        };
        const Running running{running_activity};
        return step(activities);
    }

    bool run_until_idle() {
        const bool has_turns = node.options.orchestration_threads != 0U;
        for (std::size_t step = 0; step < max_steps; ++step) {
            const bool worked = (has_turns && run_turn()) || run_activity();
            if (!worked) {
                return true;
            }
        }
        return false;
    }

    void advance(Duration by);
    [[nodiscard]] Result<OrchestrationStatus> finish(const std::string& id, Duration span);
    [[nodiscard]] std::string not_done(const std::string& id, std::optional<Instant> next);

    // The time limit of the running call: no activity sleeps beyond it.
    struct Limit {
        SteadyInstant at = SteadyInstant::max();
        std::string text; // "24 h, the limit of this finish()"
    };
    // Sets the limit while it lives. A call inside of a call may shorten it, not extend it.
    class Within {
     public:
        Within(Parts& parts, Duration span, std::string_view call)
            : parts_{parts}, outer_{parts.limit} {
            const auto at = add_saturating(parts.clock->steady(), span);
            if (at <= outer_.at) {
                parts.limit = {.at = at,
                               .text = text_of(span) + ", the limit of this " + std::string{call}};
            }
        }
        Within(const Within&) = delete;
        Within& operator=(const Within&) = delete;
        ~Within() { parts_.limit = std::move(outer_); }

     private:
        Parts& parts_;
        Limit outer_;
    };

    std::size_t max_steps;
    std::shared_ptr<ManualClock> clock;
    std::shared_ptr<Provider> store;
    std::shared_ptr<testing::DeadlineProvider> deadlines;
    std::shared_ptr<Provider> provider;
    runtime::Node node;
    runtime::Housekeeping housekeeping;
    runtime::Renewals renewals;
    runtime::OrchestrationDispatcher turns;
    runtime::OrchestrationDispatcher turns_beside; // while an activity sleeps
    runtime::ActivityDispatcher activities;
    bool running_beside = false;
    bool running_activity = false;
    std::size_t sleeps = 0; // of the running turn or activity
    Limit limit;
};

TestRuntime::TestRuntime(Registry registry) : TestRuntime{std::move(registry), Options{}} {}

TestRuntime::TestRuntime(Registry registry, Options options) {
    check(registry, options.runtime);
    parts_ = std::make_shared<Parts>(std::move(registry), std::move(options));
}

TestRuntime::~TestRuntime() = default;

Client TestRuntime::client() const {
    return Client{parts_->provider, parts_->clock};
}

ManualClock& TestRuntime::clock() const noexcept {
    return *parts_->clock;
}

const std::shared_ptr<Provider>& TestRuntime::provider() const noexcept {
    return parts_->provider;
}

void TestRuntime::Parts::advance(Duration by) {
    const Within within{*this, by, "advance()"};
    const auto until = add_saturating(clock->now(), by);
    const auto come_to_rest = [this] {
        if (!run_until_idle()) {
            throw std::runtime_error{"TestRuntime::advance: it " + restless()};
        }
    };
    come_to_rest();
    while (clock->now() < until) {
        const bool moved = skip_to(std::min(deadlines->next().value_or(until), until));
        come_to_rest();
        if (!moved) {
            return;
        }
    }
}

// Why an instance is not done: the time limit is over, or nothing is due that could wake it.
std::string TestRuntime::Parts::not_done(const std::string& id, std::optional<Instant> next) {
    if (!next) {
        return id + " waits for something from outside";
    }
    const auto why = id + " is not done within " + limit.text + ": ";
    const auto interrupted = deadlines->take_interrupted();
    for (const auto& each : interrupted) {
        if (belongs_to(each.instance, id)) {
            return why + text_of(each) + " sleeps beyond it";
        }
    }
    return why + "the next moment at which something is due is " + text_of(*next, clock->now());
}

Result<OrchestrationStatus> TestRuntime::Parts::finish(const std::string& id, Duration span) {
    const Within within{*this, span, "finish()"};
    const auto until = add_saturating(clock->now(), span);
    static_cast<void>(deadlines->take_interrupted()); // of earlier calls
    std::optional<std::uint32_t> attempts;            // of a parked instance, when first seen
    bool waited_for_code = false;
    while (true) {
        if (!run_until_idle()) {
            return fail(ErrorCode::timed_out, id + " " + restless());
        }
        auto status = Client{provider, clock}.status(id);
        if (!status || status->ended()) {
            return status;
        }
        const auto next = deadlines->next();
        const bool over = !next || *next > until;
        const auto waiting = node.parked.list(clock->now());
        if (const auto* found = parked_in_tree(id, waiting)) {
            // It gets one more attempt: a cancellation may have come since.
            if (over || found->attempts > attempts.value_or(found->attempts)) {
                return fail(ErrorCode::orchestration_failed, found->report, found->instance);
            }
            attempts = attempts.value_or(found->attempts);
        }
        if (const auto missing = over ? missing_code_in_tree(id) : std::nullopt) {
            // Waits as long as a cancellation takes without the code: one may have been sent.
            const auto ends_without =
                add_saturating(clock->now(), node.options.cancel_without_code_after);
            if (waited_for_code || ends_without > until || !skip_to(ends_without)) {
                return fail(ErrorCode::orchestration_failed, *missing, id);
            }
            waited_for_code = true;
            continue;
        }
        if (over && status->status == RunStatus::not_found) {
            return fail(ErrorCode::not_found, "there is no instance " + id, "finish");
        }
        if (over || !skip_to(*next)) {
            return fail(ErrorCode::timed_out, not_done(id, next));
        }
    }
}

// The test's code may destroy the TestRuntime during a call: each call owns parts_ to its end.

bool TestRuntime::run_turn() {
    const auto parts = parts_;
    return parts->run_turn();
}

bool TestRuntime::run_activity() {
    const auto parts = parts_;
    return parts->run_activity();
}

bool TestRuntime::run_until_idle() {
    const auto parts = parts_;
    return parts->run_until_idle();
}

std::optional<Instant> TestRuntime::next_event() const {
    return parts_->deadlines->next();
}

void TestRuntime::advance(Timespan by) {
    if (by < Duration::zero()) {
        throw std::invalid_argument{
            "TestRuntime::advance: time does not go back: " + std::to_string(by.count()) + " ms"};
    }
    const auto parts = parts_;
    parts->advance(by);
}

Result<OrchestrationStatus> TestRuntime::finish(const std::string& id, Timespan limit) {
    if (limit < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "the time limit must not be negative: " + std::to_string(limit.count()) + " ms",
                    "finish");
    }
    const auto parts = parts_;
    return parts->finish(id, limit);
}

void TestRuntime::forget() {
    const auto parts = parts_;
    parts->node.frames.clear("test");
}

std::vector<HistoryEvent> TestRuntime::history(const std::string& id) const {
    return parts_->store->read(id).value_or(std::vector<HistoryEvent>{});
}

Result<std::vector<HistoryEvent>> TestRuntime::saved_history(const std::string& id) const {
    return testing::save_history(*parts_->store, id);
}

std::vector<ParkedInstance> TestRuntime::parked() const {
    return parts_->node.parked.list(parts_->clock->now());
}

} // namespace durable
