// Engine: a store with a runtime on it, and the orchestrations that `durable bench` runs. Their
// activities do nothing.

#pragma once

#include <durable/client.hpp>
#include <durable/contract.hpp>
#include <durable/runtime.hpp>

#include <memory>

namespace durable::cli {

// The input says how many activities.
inline constexpr Orchestration<int(int)> chain{"Chain"}; // one after the other
inline constexpr Orchestration<int(int)> fan{"Fan"};     // at once
// Sleeps for a year.
inline constexpr Orchestration<int(int)> sleeper{"Sleeper"};

struct Engine {
    explicit Engine(const std::shared_ptr<Provider>& store);

    std::shared_ptr<Provider> provider;
    Runtime runtime;
    Client client;
};

} // namespace durable::cli
