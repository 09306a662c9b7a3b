// A saga: what was done is undone, newest first, when a later step fails. Even after a crash.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Activity<std::string(std::string)> book_flight{"BookFlight"};
using Booking = durable::Undo<std::string, std::string>; // of a traveller, with a ticket if any
constexpr durable::Activity<void(Booking)> cancel_flight{"CancelFlight"};
constexpr durable::Activity<std::string(std::string)> book_hotel{"BookHotel"};
constexpr durable::Activity<void(Booking)> cancel_hotel{"CancelHotel"};
constexpr durable::Activity<void(std::string)> charge{"Charge"};
constexpr durable::Orchestration<std::string(std::string)> trip{"Trip"};

durable::Task<std::string> book(durable::Context ctx, std::string traveller) {
    const auto flight =
        co_await ctx.call(book_flight, traveller, durable::undo_with(cancel_flight));
    const auto hotel = co_await ctx.call(book_hotel, traveller, durable::undo_with(cancel_hotel));
    co_await ctx.call(charge, traveller, {.retry = {.max_attempts = 2, .first_delay = 10ms}});
    co_return flight + " and " + hotel;
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    const auto say = [](std::string text) { std::cout << text + '\n'; };
    registry.add(book_flight, [](const std::string& who) { return "flight of " + who; });
    registry.add(cancel_flight, [say](const Booking& booked) {
        say("cancelled: " + booked.result.value_or("what " + booked.input + " may have booked"));
    });
    registry.add(book_hotel, [](const std::string& who) { return "hotel of " + who; });
    registry.add(cancel_hotel, [say](const Booking& booked) {
        say("cancelled: " + booked.result.value_or("what " + booked.input + " may have booked"));
    });
    registry.add(charge, [](const std::string& who) {
        if (who == "broke") {
            throw std::runtime_error{"card declined"};
        }
    });
    registry.add(trip, book);
    const auto runtime =
        durable::Runtime::start(provider, registry, {.logger = durable::silent_logger()});
    const durable::Client client{provider};

    std::cout << client.start(trip, "ana").value().wait(10s).value() << '\n';
    const auto failed = client.start(trip, "broke").value().wait(10s);
    std::cout << "failed: " << failed.error().message << '\n';
}
