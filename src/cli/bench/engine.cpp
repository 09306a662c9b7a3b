#include "cli/bench/engine.hpp"

#include <durable/combine.hpp>
#include <durable/context.hpp>
#include <durable/log.hpp>
#include <durable/registry.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace durable::cli {

namespace {

constexpr Activity<int(int)> step{"Step"};

Task<int> run_chain(Context ctx, int steps) {
    int done = 0;
    while (done < steps) {
        done = co_await ctx.call(step, done);
    }
    co_return done;
}

Task<int> run_fan(Context ctx, int width) {
    std::vector<Operation<int>> parts;
    parts.reserve(static_cast<std::size_t>(width));
    for (int i = 0; i < width; ++i) {
        parts.push_back(ctx.call(step, i));
    }
    const auto results = co_await all{std::move(parts)};
    co_return static_cast<int>(results.size());
}

Task<int> run_sleeper(Context ctx, int input) {
    co_await ctx.sleep(std::chrono::hours{24 * 365});
    co_return input;
}

Registry handlers() {
    Registry registry;
    registry.add(step, [](int n) { return n + 1; });
    registry.add(chain, run_chain);
    registry.add(fan, run_fan);
    registry.add(sleeper, run_sleeper);
    return registry;
}

} // namespace

Engine::Engine(const std::shared_ptr<Provider>& store)
    : provider{store},
      runtime{Runtime::start(store, handlers(), {.logger = silent_logger()})},
      client{store} {}

} // namespace durable::cli
