#include "runtime/housekeeping.hpp"
#include "runtime/node.hpp"
#include "runtime/orchestration_dispatcher.hpp"
#include "testing/deadline_provider.hpp"

#include <durable/memory.hpp>
#include <durable/test_runtime.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace durable {

namespace {

// An orchestration that never comes to rest (a zero timer in a loop) must not hang its test.
constexpr int most_steps = 10'000'000;

RuntimeOptions on_clock(RuntimeOptions options, const std::shared_ptr<ManualClock>& clock) {
    options.clock = clock;
    return options;
}

void check(const Registry& registry, const RuntimeOptions& options) {
    for (const auto& problem : registry.problems()) {
        throw std::invalid_argument{"Registry: " + problem};
    }
    if (const auto valid = validate(options); !valid) {
        throw std::invalid_argument{valid.error().message};
    }
}

} // namespace

struct TestRuntime::Parts {
    Parts(Registry registry, Options options)
        : clock{options.clock ? std::move(options.clock) : std::make_shared<ManualClock>()},
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
          activities{node, "test-activities"} {
        deadlines->learn();
    }

    // Time passes while leases are kept, like beside a sleeping activity.
    bool skip(Duration duration, const std::stop_token& stop) {
        const auto until = add_saturating(clock->steady(), duration);
        while (!stop.stop_requested()) {
            const auto next = std::min(housekeeping.step(), until);
            if (clock->steady() >= until) {
                return true;
            }
            clock->advance(std::max(Duration{1}, next - clock->steady()));
        }
        return false;
    }

    std::shared_ptr<ManualClock> clock;
    std::shared_ptr<Provider> store;
    std::shared_ptr<testing::DeadlineProvider> deadlines;
    std::shared_ptr<Provider> provider;
    runtime::Node node;
    runtime::Housekeeping housekeeping;
    runtime::OrchestrationDispatcher turns;
    runtime::ActivityDispatcher activities;
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
    return parts_->turns.step(Duration::zero(), {}).step == runtime::Step::worked;
}

bool TestRuntime::run_activity() {
    return parts_->node.options.activity_threads != 0U &&
           parts_->activities.step(Duration::zero(), {}).step == runtime::Step::worked;
}

bool TestRuntime::run_until_idle() {
    const bool turns = parts_->node.options.orchestration_threads != 0U;
    for (int step = 0; step < most_steps; ++step) {
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

void TestRuntime::advance(Duration by) {
    const auto until = add_saturating(parts_->clock->now(), by);
    run_until_idle();
    while (parts_->clock->now() < until) {
        const auto next = std::min(next_event().value_or(until), until);
        parts_->skip(next - parts_->clock->now(), {});
        run_until_idle();
    }
}

Result<OrchestrationStatus> TestRuntime::finish(const std::string& id, Duration limit) {
    const auto until = add_saturating(parts_->clock->now(), limit);
    while (true) {
        if (!run_until_idle()) {
            return fail(ErrorCode::timed_out, id + " does not come to rest");
        }
        auto status = client().status(id);
        if (!status || status->ended()) {
            return status;
        }
        const auto next = next_event();
        if (!next || *next > until) {
            return fail(ErrorCode::timed_out,
                        id + (next ? " is not done by then" : " waits for something from outside"));
        }
        parts_->skip(*next - parts_->clock->now(), {});
    }
}

void TestRuntime::forget() {
    parts_->node.frames.clear("test");
}

std::vector<HistoryEvent> TestRuntime::history(const std::string& id) const {
    return parts_->store->read(id).value_or(std::vector<HistoryEvent>{});
}

std::vector<ParkedInstance> TestRuntime::parked() const {
    return parts_->node.parked.list();
}

} // namespace durable
