// Instances that wait for code that fits their history, as this runtime knows them.

#pragma once

#include "base/mutex.hpp"

#include <durable/runtime.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace durable::runtime {

class ParkingLot {
 public:
    // Remembers one more failed attempt; answers how many there were.
    std::uint32_t park(ParkedInstance instance) {
        const MutexLock lock{mutex_};
        auto& entry = parked_[instance.instance];
        instance.attempts = entry.attempts + 1;
        if (entry.attempts > 0) {
            instance.since = entry.since;
        }
        entry = std::move(instance);
        return entry.attempts;
    }

    void set_next_attempt(const std::string& instance, Instant when) {
        const MutexLock lock{mutex_};
        if (const auto found = parked_.find(instance); found != parked_.end()) {
            found->second.next_attempt = when;
        }
    }

    // It runs again, or is gone. True: it was parked.
    bool leave(const std::string& instance) {
        const MutexLock lock{mutex_};
        return parked_.erase(instance) > 0;
    }

    [[nodiscard]] std::vector<ParkedInstance> list() const {
        const MutexLock lock{mutex_};
        std::vector<ParkedInstance> all;
        all.reserve(parked_.size());
        for (const auto& [id, entry] : parked_) {
            all.push_back(entry);
        }
        return all;
    }

    [[nodiscard]] std::size_t size() const {
        const MutexLock lock{mutex_};
        return parked_.size();
    }

 private:
    mutable Mutex mutex_;
    std::map<std::string, ParkedInstance> parked_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
