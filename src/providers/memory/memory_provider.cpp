#include "providers/memory/memory_provider.hpp"

#include "providers/ledger/back_door.hpp"
#include "providers/ledger/queueing.hpp"

#include <stdexcept>
#include <utility>

namespace durable::memory {

std::shared_ptr<Provider> open(Options options) {
    if (options.unstarted_message_ttl < Duration::zero()) {
        throw std::invalid_argument{"memory::Options::unstarted_message_ttl must not be negative"};
    }
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
    return ledger::damage_history(ledger_, instance);
}

Result<> MemoryProvider::corrupt_event(const std::string& instance,
                                       std::uint64_t execution_id,
                                       std::uint64_t event_id) {
    const MutexLock lock{mutex_};
    return ledger::damage_event(ledger_, instance, execution_id, event_id);
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
    return ledger::max_attempts(ledger_, instance);
}

} // namespace durable::memory
