// Two versions side by side: running instances keep theirs, new ones and next executions upgrade.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Event<> next{"Next"};
constexpr durable::Orchestration<std::string(int)> service{"Service"};

durable::Task<std::string> serve_v1(durable::Context ctx, int round) {
    ctx.set_status("waiting");
    co_await ctx.wait_for(next);
    co_return co_await ctx.continue_as_new(service, round + 1); // to the newest version
}

durable::Task<std::string> serve_v2(durable::Context ctx, int round) {
    co_return "version " + ctx.version() + " in round " + std::to_string(round);
}

int main() {
    const auto provider = durable::memory::open();
    const durable::Client client{provider};
    durable::Registry registry;
    registry.add(service, "1.0.0", serve_v1);
    const auto run = client.start(service, 1, {.id = "service-1"}).value();
    {
        const auto old_release = durable::Runtime::start(provider, registry);
        const auto status = client.wait_for_status_change(run.id(), 0, 10s).value();
        std::cout << "version " << status.version << " is " << *status.custom_status << '\n';
    }

    registry.add(service, "2.0.0", serve_v2);
    const auto new_release = durable::Runtime::start(provider, registry);
    client.raise("service-1", next).value();

    std::cout << run.wait(10s).value() << '\n';
}
