#include "runtime/housekeeping.hpp"
#include "runtime/node.hpp"
#include "runtime/orchestration_dispatcher.hpp"
#include "testing/deadline_provider.hpp"

#include <durable/memory.hpp>
#include <durable/provider_admin.hpp>
#include <durable/test_runtime.hpp>

#include <algorithm>
#include <stdexcept>
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
    const auto until = add_saturating(parts_->clock->now(), by);
    const auto come_to_rest = [this] {
        if (!run_until_idle()) {
            throw std::runtime_error{"TestRuntime::advance: it " + parts_->restless()};
        }
    };
    come_to_rest();
    while (parts_->clock->now() < until) {
        const auto next = std::min(next_event().value_or(until), until);
        parts_->skip(next - parts_->clock->now(), {});
        come_to_rest();
    }
}

Result<OrchestrationStatus> TestRuntime::finish(const std::string& id, Timespan limit) {
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
        if (over) {
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
    return parts_->node.parked.list(parts_->clock->now());
}

} // namespace durable
