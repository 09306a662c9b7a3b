#include "providers/ledger/back_door.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace durable::ledger {

namespace {

constexpr std::string_view damage = "{\"event_id\": damaged";

// Whether an instance without a row can start depends on its history: files it anew.
template <class Damage>
void rewrite(Ledger& ledger, Instance& instance, Damage&& rewrite_it) {
    ledger.turns.hold(instance);
    rewrite_it();
    instance.started = Instance::Started::unknown;
    ledger.turns.file(instance);
}

} // namespace

Result<> damage_history(Ledger& ledger, const std::string& instance) {
    auto* known = ledger.instances.find(instance);
    if (known == nullptr || known->executions.empty()) {
        return fail(ErrorCode::not_found, "no history of \"" + instance + "\"", "corrupt_history");
    }
    rewrite(ledger, *known, [&] {
        for (auto& execution : known->executions) {
            std::vector<std::uint64_t> ids;
            execution.history.for_each(
                [&](std::uint64_t id, std::string_view) { ids.push_back(id); });
            for (const auto id : ids) {
                execution.history.overwrite(id, damage);
            }
        }
    });
    return {};
}

Result<> damage_event(Ledger& ledger,
                      const std::string& instance,
                      std::uint64_t execution_id,
                      std::uint64_t event_id) {
    auto* known = ledger.instances.find(instance);
    auto* execution = known == nullptr ? nullptr : known->find_execution(execution_id);
    if (execution == nullptr || !execution->history.contains(event_id)) {
        return fail(ErrorCode::not_found, "no such event of \"" + instance + "\"", "corrupt_event");
    }
    rewrite(ledger, *known, [&] { execution->history.overwrite(event_id, damage); });
    return {};
}

std::uint32_t max_attempts(const Ledger& ledger, const std::string& instance) {
    std::uint32_t most = 0;
    if (const auto* known = ledger.instances.find(instance)) {
        for (const auto* message = known->messages; message != nullptr; message = message->next) {
            most = std::max(most, message->attempts);
        }
    }
    return most;
}

} // namespace durable::ledger
