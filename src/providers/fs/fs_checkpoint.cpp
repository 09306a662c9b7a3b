// Checkpoints of FsProvider: written piece by piece beside the calls.

#include "base/try.hpp"
#include "providers/fs/checkpoint/checkpoint.hpp"
#include "providers/fs/checkpoint/snapshot.hpp"
#include "providers/fs/fs_provider.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace durable::fs {

bool FsProvider::work_on_checkpoint() {
    const auto more = write_piece();
    if (!more) {
        // Nothing is lost; only the journal is not shortened yet. Tries again, but not at once.
        drop_checkpoint();
        checkpoint_at_.store(journal_->bytes() + machine_.checkpoint_bytes / 4);
        return false;
    }
    return *more;
}

Result<> FsProvider::make_checkpoint() {
    const std::scoped_lock house{house_mutex_};
    drop_packing();
    drop_checkpoint();
    while (true) {
        const auto more = write_piece();
        if (!more) {
            drop_checkpoint();
            return std::unexpected{more.error()};
        }
        if (!*more) {
            return {};
        }
    }
}

Result<bool> FsProvider::write_piece() {
    if (!checkpoint_) {
        Lsn lsn = 0;
        {
            const MutexLock lock{mutex_};
            lsn = journal_->last();
            snapshot_.emplace(ledger_, archive_.packs.records());
        }
        DURABLE_TRY_ASSIGN(
            auto writer,
            CheckpointWriter::begin(files_, directory_.checkpoint(), lsn, journal_->holds(lsn)));
        checkpoint_.emplace(std::move(writer));
        return true;
    }
    std::string frames;
    bool more = false;
    std::uint64_t instances = 0;
    std::uint64_t packs = 0;
    {
        const MutexLock lock{mutex_};
        DURABLE_TRY_ASSIGN(more,
                           snapshot_->encode_some(ledger_, frames, machine_.checkpoint_piece));
        instances = snapshot_->instances();
        packs = snapshot_->packs();
    }
    DURABLE_TRY(checkpoint_->write(frames));
    if (more) {
        return true;
    }
    // A checkpoint must not be ahead of its journal: recovery relies on it.
    DURABLE_TRY(journal_->ensure_synced(checkpoint_->lsn()));
    DURABLE_TRY(checkpoint_->finish(instances, packs));
    const auto lsn = checkpoint_->lsn();
    checkpoint_at_.store(journal_->bytes() +
                         std::max(machine_.checkpoint_bytes, checkpoint_->bytes()));
    drop_checkpoint();
    (void)journal_->forget_through(lsn); // the next start removes what is left
    remove_obsolete_packs();
    return false;
}

void FsProvider::drop_checkpoint() {
    checkpoint_.reset();
    const MutexLock lock{mutex_};
    snapshot_.reset();
}

} // namespace durable::fs
