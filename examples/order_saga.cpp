// An order that survives kill -9. Run it, kill it anywhere, run it again with the same directory:
// it goes on where it was. A recorded step never runs again; an activity runs at least once, so the
// one that was under way runs again.
//
//     order_saga orders

#include <durable/codec.hpp>
#include <durable/durable.hpp>

#include <chrono>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

constexpr const char* steps[] = {
    "reserve stock", "charge card", "print label", "hand to carrier", "send receipt"};

constexpr durable::Activity<std::string(std::string)> work{"Work"};
constexpr durable::Activity<void(durable::Undo<std::string, std::string>)> undo{"Undo"};
constexpr durable::Orchestration<std::string(std::string)> order{"Order"};

durable::Task<std::string> fulfil(durable::Context ctx, std::string id) {
    std::string receipt = id + ":";
    for (const std::string step : steps) {
        const auto done =
            co_await ctx.call(work, step, durable::undo_with(undo), {.retry = {.max_attempts = 3}});
        receipt += " " + done + ";";
    }
    co_return receipt;
}

// The outside world: its effects stay when this process dies.
void act(durable::ActivityContext& ctx, const std::string& directory, const std::string& what) {
    std::cout << "  " << what << " ...\n" << std::flush; // this process may be about to die
    if (!ctx.sleep(300ms)) {
        throw std::runtime_error{"asked to stop: will be run again"};
    }
    std::ofstream{directory + ".world", std::ios::app} << what << '\n';
}

} // namespace

int main(int argc, char** argv) {
    const std::string directory = argc > 1 ? argv[1] : "order_saga.store";
    const auto opened = durable::fs::open(directory);
    if (!opened) {
        std::cerr << opened.error().message << '\n';
        return 1;
    }
    durable::Registry registry;
    registry.add(work, [&](durable::ActivityContext& ctx, const std::string& step) {
        act(ctx, directory, step);
        return step + " done";
    });
    registry.add(
        undo,
        [&](durable::ActivityContext& ctx, const durable::Undo<std::string, std::string>& step) {
            act(ctx, directory, "undo: " + step.input);
        });
    registry.add(order, fulfil);
    const auto runtime =
        durable::Runtime::start(*opened, registry, {.logger = durable::silent_logger()});

    const durable::Client client{*opened};
    const auto known = client.status("order-1").value().status != durable::RunStatus::not_found;
    std::cout << (known ? "order-1 is known: going on" : "order-1 is new") << '\n';
    const auto run =
        client.start(order, "order-1", {.id = "order-1", .existing = durable::Existing::attach});
    std::cout << run.value().wait(60s).value() << "\n\nits history:\n";
    const auto management = durable::Management::of(*opened).value();
    const auto history = management.history("order-1").value();
    for (const auto& event : history) {
        const auto text = durable::encode(event).value(); // the same for every event up to "type"
        std::cout << "  " << event.event_id << " {" << text.substr(text.find("\"type\"")) << '\n';
    }
}
