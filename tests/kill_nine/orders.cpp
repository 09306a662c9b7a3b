#include "kill_nine/orders.hpp"

#include <chrono>
#include <set>
#include <stdexcept>
#include <variant>

namespace durable::kill_nine {

namespace {

using namespace std::chrono_literals;

constexpr const char* first_steps[] = {"reserve", "charge"};

constexpr Activity<std::string(std::string)> work{"Work"};
constexpr Orchestration<std::string(std::string)> ship{"Ship"};

// What the histories of a finished order and of its child consist of: see flaw_of.
constexpr std::size_t events_of_order = 18;
constexpr std::size_t events_of_child = 4;

void count(Context ctx) {
    ctx.kv().set("steps", ctx.kv().get<int>("steps").value_or(0) + 1);
}

Task<std::string> run_order(Context ctx, std::string id) {
    std::string receipt = id + ":";
    for (const std::string step : first_steps) {
        const auto done = co_await ctx.call(work, id + "/" + step);
        receipt += " " + done;
        count(ctx);
    }
    auto [label, invoice] =
        co_await all{ctx.call(work, id + "/label"), ctx.call(work, id + "/invoice")};
    receipt += " " + label + " " + invoice;
    count(ctx);
    co_await ctx.sleep(3ms);
    const auto child = id + "/ship";
    const auto shipped = co_await ctx.call(ship, id, {.id = child});
    receipt += " " + shipped;
    count(ctx);
    co_return receipt;
}

Task<std::string> run_shipment(Context ctx, std::string id) {
    co_return co_await ctx.call(work, id + "/carry");
}

bool answers_a_step(const history::Kind& kind) {
    return std::holds_alternative<history::ActivityCompleted>(kind) ||
           std::holds_alternative<history::TimerFired>(kind) ||
           std::holds_alternative<history::SubOrchestrationCompleted>(kind);
}

bool is_failure(const history::Kind& kind) {
    return std::holds_alternative<history::ActivityFailed>(kind) ||
           std::holds_alternative<history::SubOrchestrationFailed>(kind) ||
           std::holds_alternative<history::OrchestrationFailed>(kind);
}

} // namespace

Registry make_registry(Diary& diary) {
    Registry registry;
    registry.add(work, [&diary](ActivityContext& ctx, const std::string& name) {
        diary.note(entry::ran, order_of(name), step_of(name));
        // Some take a while, so that a kill finds them in the middle.
        if (ctx.id() % 2 == 0 && !ctx.sleep(2ms)) {
            throw std::runtime_error{"asked to stop"};
        }
        return step_of(name);
    });
    registry.add(process_order, run_order);
    registry.add(ship, run_shipment);
    return registry;
}

std::string expected_result(std::string_view id) {
    return std::string{id} + ": reserve charge label invoice carry";
}

std::string order_of(std::string_view name) {
    return std::string{name.substr(0, name.find('/'))};
}

std::string step_of(std::string_view name) {
    const auto slash = name.find('/');
    return slash == std::string_view::npos ? "" : std::string{name.substr(slash + 1)};
}

std::optional<std::string> flaw_of(const std::vector<HistoryEvent>& history) {
    std::set<std::uint64_t> answered;
    int counted = 0;
    for (std::size_t index = 0; index < history.size(); ++index) {
        const auto& event = history[index];
        const auto at = "event " + std::to_string(event.event_id) + ", " +
                        std::string{type_name(event.kind)} + ": ";
        if (event.event_id != index + 1) {
            return at + "has the wrong number";
        }
        const bool begins = std::holds_alternative<history::OrchestrationStarted>(event.kind);
        if (begins != (index == 0)) {
            return at + "the beginning is not where it belongs";
        }
        if (is_failure(event.kind)) {
            return at + "nothing fails here";
        }
        if (answers_a_step(event.kind) &&
            !answered.insert(event.source_event_id.value_or(0)).second) {
            return at + "a second answer to the same step";
        }
        if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind);
            set != nullptr && set->value != std::to_string(++counted)) {
            return at + "counts " + set->value;
        }
        if (is_terminal(event.kind)) {
            const bool child = step_of(event.instance_id) == "ship";
            const auto expected = child ? events_of_child : events_of_order;
            if (index + 1 != history.size() || history.size() != expected) {
                return at + "ends a history of " + std::to_string(history.size()) +
                       " events, not of " + std::to_string(expected);
            }
        }
    }
    return std::nullopt;
}

} // namespace durable::kill_nine
