#include "power_cut/look.hpp"

#include "base/try.hpp"
#include "power_cut/turn.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace durable::power_cut {

namespace {

using namespace std::chrono_literals;

// Everything in the queues: no lease of before the cut is alive, and no delay is left.
Result<> look_at_queues(Provider& store, Found& found) {
    while (true) {
        DURABLE_TRY_ASSIGN(const auto item, store.fetch_orchestration_item({.lock_timeout = 1h}));
        if (!item) {
            break;
        }
        if (item->history_error) {
            found.flaws.push_back("history of " + item->instance + ": " + *item->history_error);
        }
        for (const auto& message : item->messages) {
            if (const auto tag = tag_of(message, found.flaws); !tag.empty()) {
                ++found.messages[tag];
            }
        }
    }
    while (true) {
        DURABLE_TRY_ASSIGN(const auto lease,
                           store.fetch_work_item({.lock_timeout = 1h, .tags = TagFilter::any()}));
        if (!lease) {
            return {};
        }
        found.work.insert(lease->item.input);
    }
}

// All that the store says of an instance was said by its last turn.
Result<> look_at_instance(Provider& store, const std::string& id, Found& found) {
    auto& admin = *store.as_management_capability();
    DURABLE_TRY_ASSIGN(auto executions, admin.list_executions(id));
    std::ranges::sort(executions);
    HistoryReader reader{id, found};
    for (const auto execution : executions) {
        DURABLE_TRY_ASSIGN(const auto history, admin.read_history_with_execution_id(id, execution));
        reader.read(execution, history);
    }
    const auto& marker = reader.marker();
    DURABLE_TRY_ASSIGN(const auto value, store.get_kv_value(id, std::string{turn_key}));
    if (value != marker) {
        found.flaws.push_back("half there: " + id + " is at turn " + marker + ", its value at " +
                              value.value_or("none"));
    }
    DURABLE_TRY_ASSIGN(const auto status, store.get_custom_status(id, 0));
    if (!status || status->status != marker) {
        found.flaws.push_back("half there: " + id + " is at turn " + marker + ", its status at " +
                              (status ? status->status.value_or("none") : "none"));
    }
    DURABLE_TRY_ASSIGN(const auto info, admin.get_instance_info(id));
    if ((info.status == "Completed") != reader.completed()) {
        found.flaws.push_back("half there: " + id + " is " + info.status + " at turn " + marker);
    }
    return {};
}

// The store goes on: it takes an instance and runs it.
Result<> go_on(Provider& store, Found& found) {
    const std::string id = "afterwards";
    DURABLE_TRY(store.enqueue_for_orchestrator(
        work::StartOrchestration{
            .instance = id, .orchestration = "Order", .input = "0", .version = "1.0.0"},
        std::nullopt));
    DURABLE_TRY_ASSIGN(const auto item, store.fetch_orchestration_item({.lock_timeout = 1h}));
    SeededRandom random{0};
    const auto turn =
        item && item->instance == id ? decide(*item, {}, random, {}) : std::optional<Turn>{};
    if (!turn) {
        found.flaws.emplace_back("an instance that was started afterwards does not run");
        return {};
    }
    DURABLE_TRY(store.ack_orchestration_item(turn->commit));
    DURABLE_TRY_ASSIGN(const auto history, store.read(id));
    if (history != turn->commit.history_delta) {
        found.flaws.emplace_back("an instance that was started afterwards has another history");
    }
    return {};
}

Result<> look_at_store(const StorePlace& place, Found& found) {
    DURABLE_TRY_ASSIGN(const auto store, open_store(place));
    DURABLE_TRY(look_at_queues(*store, found));
    DURABLE_TRY_ASSIGN(const auto ids, store->as_management_capability()->list_instances());
    for (const auto& id : ids) {
        DURABLE_TRY(look_at_instance(*store, id, found));
    }
    return go_on(*store, found);
}

void let_check(const StorePlace& place, std::string_view when, Found& found) {
    if (auto flaw = flaw_of_store(place); !flaw.empty()) {
        std::ranges::replace(flaw, '\n', ' ');
        found.flaws.push_back("the store's own check, " + std::string{when} + ": " + flaw);
    }
}

} // namespace

Found look(const StorePlace& place) {
    Found found;
    // SQLite's check would be the first to open the file after the cut: that is for the library.
    if (place.kind == Kind::fs) {
        let_check(place, "before it is opened", found);
    }
    if (const auto looked = look_at_store(place, found); !looked) {
        found.flaws.push_back(looked.error().text());
    }
    let_check(place, "after it was closed", found);
    found.complete = true;
    return found;
}

} // namespace durable::power_cut
