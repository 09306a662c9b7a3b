// An eternal orchestration: continue_as_new keeps its history short, however long it lives.

#include <durable/durable.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

struct Watch {
    std::string host;
    int checks = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Watch, host, checks)

constexpr durable::Activity<bool(std::string)> is_healthy{"IsHealthy"};
constexpr durable::Orchestration<int(Watch)> watch_host{"WatchHost"};

durable::Task<int> watch(durable::Context ctx, Watch state) {
    co_await ctx.sleep(1ms);
    const bool healthy = co_await ctx.call(is_healthy, state.host);
    state.checks += 1;
    if (!healthy) {
        co_return state.checks;
    }
    co_return co_await ctx.continue_as_new(watch_host, state); // never resumes
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    std::atomic<int> checks = 0;
    registry.add(is_healthy, [&checks](const std::string&) { return ++checks < 10; });
    registry.add(watch_host, watch);
    const auto runtime = durable::Runtime::start(provider, registry);
    const durable::Client client{provider};

    const Watch first{.host = "example.org"};
    const auto run = client.start(watch_host, first, {.id = "watch-1"}).value();
    std::cout << "down after " << run.wait(30s).value() << " checks\n";

    const auto executions = client.management().value().executions("watch-1").value();
    std::cout << executions.size() << " executions, each with its own short history\n";
}
