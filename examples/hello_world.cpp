// The smallest program: one activity, one orchestration, one instance.

#include <durable/durable.hpp>

#include <iostream>

using namespace std::chrono_literals;

// Contracts: what can be called, under which durable name, with which types.
constexpr durable::Activity<std::string(std::string)> greet{"Greet"};
constexpr durable::Orchestration<std::string(std::string)> hello{"Hello"};

// An orchestration is a coroutine. Every step it awaits is recorded and never runs twice.
durable::Task<std::string> say_hello(durable::Context ctx, std::string name) {
    co_return co_await ctx.call(greet, name);
}

int main() {
    const auto provider = durable::memory::open();

    durable::Registry registry;
    registry.add(greet, [](const std::string& name) { return "Hello, " + name + "!"; });
    registry.add(hello, say_hello);
    const auto runtime = durable::Runtime::start(provider, registry);

    const durable::Client client{provider};
    const auto run = client.start(hello, "world", {.id = "greeting-1"}).value();
    std::cout << run.wait(10s).value() << '\n';
}
