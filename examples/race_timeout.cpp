// A race between an event and the clock: the first one wins, the loser is cancelled by scope.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Event<std::string> quote{"Quote"};
constexpr durable::Orchestration<std::string(int)> shop{"Shop"};

durable::Task<std::string> wait_for_quote(durable::Context ctx, int patience_ms) {
    const std::chrono::milliseconds patience{patience_ms};
    const auto answer = co_await ctx.within(patience, ctx.wait_for(quote));
    co_return answer ? "bought at " + *answer : "nobody answered";
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    registry.add(shop, wait_for_quote);
    const auto runtime = durable::Runtime::start(provider, registry);
    const durable::Client client{provider};

    const auto hurried = client.start(shop, 20, {.id = "hurried"}).value();
    const auto patient = client.start(shop, 3'600'000, {.id = "patient"}).value();
    client.raise("patient", quote, "9.99").value();

    std::cout << hurried.id() << ": " << hurried.wait(10s).value() << '\n';
    std::cout << patient.id() << ": " << patient.wait(10s).value() << '\n';
}
