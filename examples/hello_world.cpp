// The smallest program that survives kill -9: run it, kill it while it sleeps, run it again.

#include <durable/durable.hpp>

#include <iostream>

using namespace std::chrono_literals;

// Contracts: what can be called, under which durable name, with which types.
constexpr durable::Activity<void(std::string)> say{"Say"};
constexpr durable::Orchestration<std::string(std::string)> visit{"Visit"};

// An orchestration is a coroutine. A recorded step never runs again;
// an activity runs at least once.
durable::Task<std::string> pay_a_visit(durable::Context ctx, std::string name) {
    co_await ctx.call(say, "Hello, " + name + "!");
    co_await ctx.sleep(2s); // a step like any other: kill the process here
    co_await ctx.call(say, "Goodbye, " + name + "!");
    co_return "visited " + name;
}

int main() {
    const auto provider = durable::fs::open("hello.store").value(); // a directory

    durable::Registry registry;
    registry.add(say, [](const std::string& text) { std::cout << text << '\n' << std::flush; });
    registry.add(visit, pay_a_visit);
    const auto runtime = durable::Runtime::start(provider, registry);

    // The second run of the program finds the visit of the first one, and waits for its end.
    const durable::Client client{provider};
    const auto run =
        client.start(visit, "world", {.id = "visit-1", .existing = durable::Existing::attach});
    std::cout << run.value().wait(10s).value() << '\n';
}
