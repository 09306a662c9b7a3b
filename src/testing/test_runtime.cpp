#include "base/timestamp.hpp"
#include "runtime/housekeeping.hpp"
#include "runtime/node.hpp"
#include "runtime/orchestration_dispatcher.hpp"
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

// "400 days": in the largest unit that counts it without a rest.
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

// Why an instance is not done: its time is over, or nobody will ever wake it.
std::string not_done(Duration limit, std::optional<Instant> next, Instant now) {
    if (!next) {
        return " waits for something from outside";
    }
    return " is not done within " + text_of(limit) +
           ", the limit of this finish(): the next moment at which something is due is " +
           text_of(*next, now);
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
          turns{node, "test-orchestrations"},
          turns_beside{node, "test-orchestrations-beside"},
          activities{node, "test-activities"} {
        deadlines->learn();
    }

    // Time passes at once, and what is leased is kept meanwhile. Beside an activity that sleeps,
    // it stops wherever orchestrations can go on: they may ask the activity to stop.
    bool skip(Duration duration, const std::stop_token& stop) {
        constexpr auto most_stops = 1000;
        const auto until = add_saturating(clock->steady(), duration);
        const auto stride = (until - clock->steady()) / most_stops;
        const bool beside = is_of_activity(stop) && !running_beside;
        housekeeping.step();
        while (!stop.stop_requested()) {
            if (is_of_activity(stop)) {
                count_sleep();
            }
            if (beside) {
                run_turns_beside();
            }
            const auto now = clock->steady();
            if (stop.stop_requested() || now >= until) {
                break;
            }
            auto next = std::min(housekeeping.keep_over(until - now, stride), until);
            if (const auto due = beside ? deadlines->next() : std::nullopt) {
                next = std::min(next, add_saturating(now, *due - clock->now()));
            }
            clock->advance(next - now);
        }
        housekeeping.step();
        return !stop.stop_requested();
    }

    // Others that pause wait for the store to recover.
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

    // One level deep: a short activity that such a turn runs sleeps without company.
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

    // To a moment on the wall. False: the clock has come to its end.
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

    // The report of the first parked instance that `id` is, or waits for.
    [[nodiscard]] const ParkedInstance* parked_in_tree(const std::string& id,
                                                       const std::vector<ParkedInstance>& parked) {
        const auto found = std::ranges::find_if(parked, [&](const ParkedInstance& each) {
            return each.reason == ParkReason::differs && belongs_to(each.instance, id);
        });
        return found == parked.end() ? nullptr : &*found;
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

    std::size_t max_steps;
    std::shared_ptr<ManualClock> clock;
    std::shared_ptr<Provider> store;
    std::shared_ptr<testing::DeadlineProvider> deadlines;
    std::shared_ptr<Provider> provider;
    runtime::Node node;
    runtime::Housekeeping housekeeping;
    runtime::OrchestrationDispatcher turns;
    runtime::OrchestrationDispatcher turns_beside; // while an activity sleeps
    runtime::ActivityDispatcher activities;
    bool running_beside = false;
    std::size_t sleeps = 0; // of what runs now
};

TestRuntime::TestRuntime(Registry registry) : TestRuntime{std::move(registry), Options{}} {}

TestRuntime::TestRuntime(Registry registry, Options options) {
    check(registry, options.runtime);
    parts_ = std::make_unique<Parts>(std::move(registry), std::move(options));
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

bool TestRuntime::run_turn() {
    parts_->sleeps = 0;
    return parts_->turns.step(Duration::zero(), {}).step == runtime::Step::worked;
}

bool TestRuntime::run_activity() {
    parts_->sleeps = 0;
    return parts_->node.options.activity_threads != 0U &&
           parts_->activities.step(Duration::zero(), {}).step == runtime::Step::worked;
}

bool TestRuntime::run_until_idle() {
    const bool turns = parts_->node.options.orchestration_threads != 0U;
    for (std::size_t step = 0; step < parts_->max_steps; ++step) {
        const bool worked = (turns && run_turn()) || run_activity();
        if (!worked) {
            return true;
        }
    }
    return false;
}

std::optional<Instant> TestRuntime::next_event() const {
    return parts_->deadlines->next();
}

void TestRuntime::advance(Timespan by) {
    if (by < Duration::zero()) {
        throw std::invalid_argument{
            "TestRuntime::advance: time does not go back: " + std::to_string(by.count()) + " ms"};
    }
    const auto until = add_saturating(parts_->clock->now(), by);
    const auto come_to_rest = [this] {
        if (!run_until_idle()) {
            throw std::runtime_error{"TestRuntime::advance: it " + parts_->restless()};
        }
    };
    come_to_rest();
    while (parts_->clock->now() < until) {
        const bool moved = parts_->skip_to(std::min(next_event().value_or(until), until));
        come_to_rest();
        if (!moved) {
            return;
        }
    }
}

Result<OrchestrationStatus> TestRuntime::finish(const std::string& id, Timespan limit) {
    if (limit < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "the time limit must not be negative: " + std::to_string(limit.count()) + " ms",
                    "finish");
    }
    const auto until = add_saturating(parts_->clock->now(), limit);
    std::optional<std::uint32_t> attempts; // of a parked instance, when it was first seen
    while (true) {
        if (!run_until_idle()) {
            return fail(ErrorCode::timed_out, id + " " + parts_->restless());
        }
        auto status = client().status(id);
        if (!status || status->ended()) {
            return status;
        }
        const auto next = next_event();
        const bool over = !next || *next > until;
        const auto waiting = parked();
        if (const auto* found = parts_->parked_in_tree(id, waiting)) {
            // Once more: a cancellation may have come since.
            if (over || found->attempts > attempts.value_or(found->attempts)) {
                return fail(ErrorCode::orchestration_failed, found->report, found->instance);
            }
            attempts = attempts.value_or(found->attempts);
        }
        if (over && status->status == RunStatus::not_found) {
            return fail(ErrorCode::not_found, "there is no instance " + id, "finish");
        }
        if (over || !parts_->skip_to(*next)) {
            return fail(ErrorCode::timed_out, id + not_done(limit, next, parts_->clock->now()));
        }
    }
}

void TestRuntime::forget() {
    parts_->node.frames.clear("test");
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
