// The last error of an instance or activity, so that a failure after many attempts can say why.
// Dispatchers write and read it, from any thread. Bounded: the oldest errors are forgotten, and a
// message about them then names no cause.

#pragma once

#include "base/mutex.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace durable::runtime {

class Diagnostics {
 public:
    void remember(const std::string& instance, std::string error) {
        const MutexLock lock{mutex_};
        if (errors_.size() >= most && !errors_.contains(instance)) {
            errors_.erase(errors_.begin());
        }
        errors_[instance] = std::move(error);
    }

    // Empty: nothing is known.
    [[nodiscard]] std::string take(const std::string& instance) {
        const MutexLock lock{mutex_};
        const auto node = errors_.extract(instance);
        return node.empty() ? std::string{} : node.mapped();
    }

 private:
    static constexpr std::size_t most = 1000;

    Mutex mutex_;
    std::map<std::string, std::string> errors_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::runtime
