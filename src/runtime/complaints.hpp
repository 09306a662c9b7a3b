// Complaints: what is worth a line in the log of all that many threads meet again and again.
//
// A store that fails does so for every thread of a runtime, each time it is asked. Each thing that
// is said about it is told once, then again after a second, after two, four, and so on up to an
// hour, whoever meets it; and at once when it had worked in between.

#pragma once

#include "base/mutex.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace durable::runtime {

class Complaints {
 public:
    [[nodiscard]] bool tells(const std::string& what, SteadyInstant now) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        any_ = true;
        if (told_.size() >= most && !told_.contains(what)) {
            told_.clear();
        }
        const auto [found, first] = told_.try_emplace(what);
        auto& told = found->second;
        if (!first && now < told.next) {
            return false;
        }
        told.next = add_saturating(now, told.pause);
        told.pause = std::min<Duration>(told.pause * 2, std::chrono::hours{1});
        return true;
    }

    // It worked.
    void settle() DURABLE_EXCLUDES(mutex_) {
        if (any_) {
            const MutexLock lock{mutex_};
            any_ = false;
            told_.clear();
        }
    }

 private:
    static constexpr std::size_t most = 16; // different ones

    struct Told {
        SteadyInstant next{};
        Duration pause = std::chrono::seconds{1};
    };

    std::atomic<bool> any_ = false;
    Mutex mutex_;
    std::map<std::string, Told> told_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
