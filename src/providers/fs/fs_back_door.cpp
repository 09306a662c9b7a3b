// The back door of FsProvider, for tests.

#include "base/try.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/ledger/back_door.hpp"
#include "providers/ledger/queueing.hpp"

#include <algorithm>

namespace durable::fs {

Result<> FsProvider::corrupt_history(const std::string& instance) {
    {
        const MutexLock lock{mutex_};
        (void)ledger_.instances.find(instance);
        archive_.forget_copies({instance});
        DURABLE_TRY(ledger::damage_history(ledger_, instance));
    }
    return make_checkpoint();
}

Result<> FsProvider::corrupt_event(const std::string& instance,
                                   std::uint64_t execution_id,
                                   std::uint64_t event_id) {
    {
        const MutexLock lock{mutex_};
        (void)ledger_.instances.find(instance);
        archive_.forget_copies({instance});
        DURABLE_TRY(ledger::damage_event(ledger_, instance, execution_id, event_id));
    }
    return make_checkpoint();
}

Result<> FsProvider::inject_orchestrator_row(const std::string& instance, const std::string& text) {
    const MutexLock lock{mutex_};
    auto done = commit(ledger::restore_message(ledger_, instance, text, now()));
    wake(lock);
    return done;
}

Result<> FsProvider::inject_worker_row(const std::string& text) {
    const MutexLock lock{mutex_};
    auto done = commit(ledger::restore_work(ledger_, text, now()));
    wake(lock);
    return done;
}

std::uint32_t FsProvider::max_attempt_count(const std::string& instance) {
    const MutexLock lock{mutex_};
    return ledger::max_attempts(ledger_, instance);
}

FsProvider::State FsProvider::state() {
    const MutexLock lock{mutex_};
    State state{.lsn = journal_->last(), .rest = ledger_.rest(), .instances = {}};
    ledger_.instances.for_each([&](const ledger::Instance& instance) {
        if (instance.copy != ledger::Instance::Copy::made) {
            state.instances.push_back(ledger::image_of(instance));
        }
    });
    for (const auto& [number, pack] : archive_.packs.packs()) {
        for (std::uint32_t line = 0; line < pack->live.size(); ++line) {
            if (pack->live[line]) {
                const PackArchive::Wanted wanted{.place = {.pack = number, .line = line},
                                                 .pack = pack};
                state.instances.push_back(
                    PackArchive::read(files_, directory_.packs(), wanted).value());
            }
        }
    }
    std::ranges::sort(state.instances, {}, &ledger::InstanceImage::id);
    return state;
}

} // namespace durable::fs
