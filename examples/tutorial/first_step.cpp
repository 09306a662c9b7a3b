// The first program of docs/tutorial.md: one activity, one orchestration, one store.

#include <durable/durable.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Activity<std::string(std::string)> book_flight{"BookFlight"};
constexpr durable::Orchestration<std::string(std::string)> trip{"Trip"};

durable::Task<std::string> book_trip(durable::Context ctx, std::string traveller) {
    const auto flight = co_await ctx.call(book_flight, traveller);
    co_return flight;
}

int main() {
    const auto provider = durable::fs::open("first_step.store").value();

    durable::Registry registry;
    registry.add(book_flight, [](const std::string& who) { return "a flight for " + who; });
    registry.add(trip, book_trip);
    const auto runtime = durable::Runtime::start(provider, registry);

    const durable::Client client{provider};
    const auto run = client.start(trip, "ana", {.id = "trip-ana"});
    if (!run) {
        std::cerr << run.error().message << '\n';
        return 1;
    }
    std::cout << run->wait(10s).value() << '\n';
}
