// LogThrottle: limits how often an error that many threads meet again and again is logged.
//
// A store that fails does so for every thread of a runtime, at each call. Each text is logged once,
// then again after one second, after two, four, and so on up to an hour, counted over all threads;
// and at once when the call had worked in between. Dispatchers and the housekeeping share one per
// kind of call; any thread may call.

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

class LogThrottle {
 public:
    // Whether the caller logs this text now.
    [[nodiscard]] bool due(const std::string& what, SteadyInstant now) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        any_ = true;
        if (logged_.size() >= most && !logged_.contains(what)) {
            logged_.clear();
        }
        const auto [found, first] = logged_.try_emplace(what);
        auto& logged = found->second;
        if (!first && now < logged.next) {
            return false;
        }
        logged.next = add_saturating(now, logged.pause);
        logged.pause = std::min<Duration>(logged.pause * 2, std::chrono::hours{1});
        return true;
    }

    // The call worked: the next error is logged at once.
    void reset() DURABLE_EXCLUDES(mutex_) {
        if (any_) {
            const MutexLock lock{mutex_};
            any_ = false;
            logged_.clear();
        }
    }

 private:
    static constexpr std::size_t most = 16; // different texts

    struct Logged {
        SteadyInstant next{};
        Duration pause = std::chrono::seconds{1};
    };

    std::atomic<bool> any_ = false;
    Mutex mutex_;
    std::map<std::string, Logged> logged_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
