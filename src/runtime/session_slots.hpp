// SessionSlots: the distinct sessions that have activities running here, at most
// max_sessions_per_runtime. Activity dispatchers enter and leave; any thread may call.

#pragma once

#include "base/mutex.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace durable::runtime {

class SessionSlots {
 public:
    explicit SessionSlots(std::size_t most) : most_{most} {}

    // False: only sessions that already run here may be served (T-23).
    [[nodiscard]] bool may_claim() const {
        const MutexLock lock{mutex_};
        return running_.size() < most_;
    }

    // False, and nothing entered, when this session would be one too many.
    [[nodiscard]] bool enter(const std::string& session) {
        const MutexLock lock{mutex_};
        const auto found = running_.find(session);
        if (found != running_.end()) {
            ++found->second;
            return true;
        }
        if (running_.size() >= most_) {
            return false;
        }
        running_.emplace(session, 1);
        return true;
    }

    void leave(const std::string& session) {
        const MutexLock lock{mutex_};
        const auto found = running_.find(session);
        if (found != running_.end() && --found->second == 0) {
            running_.erase(found);
        }
    }

 private:
    std::size_t most_;
    mutable Mutex mutex_;
    std::map<std::string, std::size_t> running_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
