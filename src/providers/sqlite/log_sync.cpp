#include "providers/sqlite/log_sync.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

LogSync::LogSync(std::unique_ptr<Connection> observer) : observer_{std::move(observer)} {}

Result<> LogSync::ensure(std::optional<std::uint64_t> version) {
    std::unique_lock lock{mutex_};
    // A round that is under way may have begun too early for us.
    const auto too_early = syncing_ && !(version && *version <= round_covers_);
    const auto ours = rounds_ + (too_early ? 2U : 1U);
    while (!broken_ && rounds_ < ours && !(version && *version <= synced_)) {
        if (syncing_) {
            ended_[ours % 2].wait(lock);
        } else {
            lead(lock);
        }
    }
    if (broken_) {
        return std::unexpected{*broken_};
    }
    if (version && rounds_ >= ours) {
        synced_ = std::max(synced_, *version); // it may be another process's, and unknown so far
    }
    if (!syncing_ && rounds_ < ours) {
        ended_[ours % 2]
            .notify_one(); // whoever was woken to lead the round, and need not, passes on
    }
    return {};
}

void LogSync::lead(std::unique_lock<std::mutex>& lock) {
    syncing_ = true;
    // What is committed from here on may or may not be in this sync. What another process has
    // committed is in it, too, under a version that this one may not know: whoever asks for that
    // waits for the end of a round that began later.
    round_covers_ = committed_ ? committed_() : 0;
    lock.unlock();
    observer_->sync_log();
    lock.lock();
    syncing_ = false;
    ++rounds_;
    if (auto error = observer_->take_error()) {
        broken_ = std::move(error);
        ended_[0].notify_all();
        ended_[1].notify_all();
        return;
    }
    synced_ = std::max(synced_, round_covers_);
    ended_[rounds_ % 2].notify_all();
    ended_[(rounds_ + 1) % 2].notify_one(); // leads the next round, unless a newcomer does
}

} // namespace durable::sqlite
