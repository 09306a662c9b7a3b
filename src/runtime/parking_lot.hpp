// ParkingLot: the instances that wait for code, as far as this runtime has met them. Dispatchers
// park and release them; Runtime::parked() and gauges read the list. Any thread may call.

#pragma once

#include "base/mutex.hpp"

#include <durable/runtime.hpp>
#include <durable/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace durable::runtime {

class ParkingLot {
 public:
    // Records one more failed attempt; returns how many there were.
    std::uint32_t park(ParkedInstance instance) {
        const MutexLock lock{mutex_};
        instance.attempts = 1;
        if (const auto before = parked_.find(instance.instance); before != parked_.end()) {
            if (before->second.reason == instance.reason) {
                instance.attempts = before->second.attempts + 1;
                instance.since = before->second.since;
            }
            erase(before);
        }
        if (instance.reason == ParkReason::unregistered && ++unregistered_ > most_unregistered) {
            make_room();
        }
        const auto attempts = instance.attempts;
        parked_.emplace(instance.instance, std::move(instance));
        return attempts;
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
        const auto found = parked_.find(instance);
        if (found == parked_.end()) {
            return false;
        }
        erase(found);
        return true;
    }

    [[nodiscard]] std::vector<ParkedInstance> list(Instant now) const {
        const MutexLock lock{mutex_};
        std::vector<ParkedInstance> all;
        all.reserve(parked_.size());
        for (const auto& [id, entry] : parked_) {
            if (entry.reason == ParkReason::differs || !gone_elsewhere(entry, now)) {
                all.push_back(entry);
            }
        }
        return all;
    }

    // How many instances have code that differs from their history.
    [[nodiscard]] std::size_t differing() const {
        const MutexLock lock{mutex_};
        return parked_.size() - unregistered_;
    }

 private:
    static constexpr std::size_t most_unregistered = 1000;

    // It did not come back when it was due: another runtime has its code and took it.
    [[nodiscard]] static bool gone_elsewhere(const ParkedInstance& entry, Instant now) {
        return add_saturating(entry.next_attempt, std::chrono::minutes{1}) < now;
    }

    void erase(std::map<std::string, ParkedInstance>::iterator entry) DURABLE_REQUIRES(mutex_) {
        unregistered_ -= entry->second.reason == ParkReason::unregistered ? 1U : 0U;
        parked_.erase(entry);
    }

    // A runtime that serves some orchestrations of a store meets all the others: forget the oldest.
    void make_room() DURABLE_REQUIRES(mutex_) {
        auto oldest = parked_.end();
        for (auto entry = parked_.begin(); entry != parked_.end(); ++entry) {
            if (entry->second.reason == ParkReason::unregistered &&
                (oldest == parked_.end() || entry->second.since < oldest->second.since)) {
                oldest = entry;
            }
        }
        erase(oldest);
    }

    mutable Mutex mutex_;
    std::size_t unregistered_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::map<std::string, ParkedInstance> parked_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
