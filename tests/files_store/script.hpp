// A run of the store in which everything happens that changes files: starts, turns, activities,
// timers, children, values, parking, pruning, expiry and deletion. Each step is a call, or a fetch
// with the commit that ends it: a fetch alone only counts an attempt.

#pragma once

#include "files_store/files_stores.hpp"

#include <durable/provider.hpp>
#include <durable/testing.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace files_store {

class Script {
 public:
    using Action = std::function<durable::Result<>(durable::Provider&)>;

    Script();

    [[nodiscard]] std::size_t size() const { return steps_.size(); }
    [[nodiscard]] std::string name(std::size_t step) const {
        return step < size() ? steps_[step].first : "the end";
    }
    [[nodiscard]] std::shared_ptr<durable::ManualClock> clock() const { return clock_; }
    // The time of day before a step: the same in every run, whatever went before.
    void at(std::size_t step);
    [[nodiscard]] durable::Result<> play(durable::Provider& store, std::size_t step);

    // Everything that the store tells, without attempts: these a crash may count once more.
    [[nodiscard]] static std::string describe(durable::Provider& store);

 private:
    std::shared_ptr<durable::ManualClock> clock_ = std::make_shared<durable::ManualClock>();
    std::vector<std::pair<std::string, Action>> steps_;
};

} // namespace files_store
