// The saga of docs/tutorial.md: what was booked is cancelled, newest first, when a later step
// fails; also when the process is killed in the middle of that and started again.
//
//     trip ana        every step succeeds
//     trip broke      the card is declined: both bookings are undone

#include <durable/durable.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

using Booking = durable::Undo<std::string, std::string>; // of a traveller, with a ticket if any

constexpr durable::Activity<std::string(std::string)> book_flight{"BookFlight"};
constexpr durable::Activity<void(Booking)> cancel_flight{"CancelFlight"};
constexpr durable::Activity<std::string(std::string)> book_hotel{"BookHotel"};
constexpr durable::Activity<void(Booking)> cancel_hotel{"CancelHotel"};
constexpr durable::Activity<void(std::string)> charge{"Charge"};
constexpr durable::Orchestration<std::string(std::string)> trip{"Trip"};

durable::Task<std::string> book_trip(durable::Context ctx, std::string traveller) {
    const auto flight =
        co_await ctx.call(book_flight, traveller, durable::undo_with(cancel_flight));
    const auto hotel = co_await ctx.call(book_hotel, traveller, durable::undo_with(cancel_hotel));
    co_await ctx.call(charge, traveller);
    co_return flight + " and " + hotel;
}

// Stands for a slow service on the other side of a network.
void work(durable::ActivityContext& ctx, const std::string& what) {
    std::cout << what << " ...\n" << std::flush;
    if (!ctx.sleep(1s)) {
        throw std::runtime_error{"asked to stop: it will be run again"};
    }
}

void add_activities(durable::Registry& registry) {
    registry.add(book_flight, [](durable::ActivityContext& ctx, const std::string& who) {
        work(ctx, "booking a flight");
        return "a flight for " + who;
    });
    registry.add(cancel_flight, [](durable::ActivityContext& ctx, const Booking& booked) {
        work(ctx, "cancelling " + booked.result.value_or("what may have been booked"));
    });
    registry.add(book_hotel, [](durable::ActivityContext& ctx, const std::string& who) {
        work(ctx, "booking a hotel");
        return "a room for " + who;
    });
    registry.add(cancel_hotel, [](durable::ActivityContext& ctx, const Booking& booked) {
        work(ctx, "cancelling " + booked.result.value_or("what may have been booked"));
    });
    registry.add(charge, [](durable::ActivityContext& ctx, const std::string& who) {
        work(ctx, "charging the card");
        if (who == "broke") {
            throw durable::OperationFailed{{.kind = "Declined", .message = "card declined"}};
        }
    });
}

} // namespace

int main(int argc, char** argv) {
    const std::string traveller = argc > 1 ? argv[1] : "ana";
    const auto provider = durable::fs::open("trips.store").value();

    durable::Registry registry;
    add_activities(registry);
    registry.add(trip, book_trip);
    const auto runtime =
        durable::Runtime::start(provider, registry, {.logger = durable::silent_logger()});

    const durable::Client client{provider};
    const auto run = client.start(
        trip, traveller, {.id = "trip-" + traveller, .existing = durable::Existing::attach});
    const auto booked = run.value().wait(60s);
    std::cout << (booked ? "booked: " + *booked : "not booked: " + booked.error().message) << '\n';
}
