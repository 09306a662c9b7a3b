#include "providers/memory/memory_provider.hpp"

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"

#include <algorithm>
#include <utility>

namespace durable::memory {

namespace {

constexpr std::string_view damage = "{\"event_id\": damaged";

} // namespace

std::shared_ptr<Provider> open(Options options) {
    return std::make_shared<MemoryProvider>(options);
}

MemoryProvider::MemoryProvider(const Options& options, std::shared_ptr<Random> random)
    : LedgerProvider{ledger::Options{.unstarted_message_ttl = options.unstarted_message_ttl},
                     options.clock,
                     std::move(random)} {}

std::string MemoryProvider::version() const {
    return engine_version_text();
}

Result<> MemoryProvider::corrupt_history(const std::string& instance) {
    const MutexLock lock{mutex_};
    auto* known = ledger_.instances.find(instance);
    if (known == nullptr || known->executions.empty()) {
        return fail(ErrorCode::not_found, "no history of \"" + instance + "\"", "corrupt_history");
    }
    ledger_.turns.hold(*known);
    for (auto& execution : known->executions) {
        std::vector<std::uint64_t> ids;
        execution.history.for_each([&](std::uint64_t id, std::string_view) { ids.push_back(id); });
        for (const auto id : ids) {
            execution.history.overwrite(id, damage);
        }
    }
    known->started = ledger::Instance::Started::unknown;
    ledger_.turns.file(*known);
    return {};
}

Result<> MemoryProvider::corrupt_event(const std::string& instance,
                                       std::uint64_t execution_id,
                                       std::uint64_t event_id) {
    const MutexLock lock{mutex_};
    auto* known = ledger_.instances.find(instance);
    auto* execution = known == nullptr ? nullptr : known->find_execution(execution_id);
    if (execution == nullptr || !execution->history.contains(event_id)) {
        return fail(ErrorCode::not_found, "no such event of \"" + instance + "\"", "corrupt_event");
    }
    ledger_.turns.hold(*known);
    execution->history.overwrite(event_id, damage);
    known->started = ledger::Instance::Started::unknown;
    ledger_.turns.file(*known);
    return {};
}

Result<> MemoryProvider::inject_orchestrator_row(const std::string& instance,
                                                 const std::string& text) {
    const MutexLock lock{mutex_};
    auto done = commit(ledger::restore_message(ledger_, instance, text, now()));
    wake(lock);
    return done;
}

Result<> MemoryProvider::inject_worker_row(const std::string& text) {
    const MutexLock lock{mutex_};
    auto done = commit(ledger::restore_work(ledger_, text, now()));
    wake(lock);
    return done;
}

std::uint32_t MemoryProvider::max_attempt_count(const std::string& instance) {
    const MutexLock lock{mutex_};
    std::uint32_t most = 0;
    if (const auto* known = ledger_.instances.find(instance)) {
        for (const auto* message = known->first_message; message != nullptr;
             message = message->next) {
            most = std::max(most, message->attempts);
        }
    }
    return most;
}

} // namespace durable::memory
