// Sessions: all activities of a session run in one process and share its memory.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Activity<void(std::string)> load_model{"LoadModel"};
constexpr durable::Activity<std::string(std::string)> ask_model{"AskModel"};
constexpr durable::Orchestration<std::string(std::string)> chat{"Chat"};

durable::Task<std::string> talk(durable::Context ctx, std::string model) {
    const auto session = ctx.new_uuid(); // the same on every replay
    co_await ctx.call(load_model, model, {.session = session});
    const auto first = co_await ctx.call(ask_model, "hello", {.session = session});
    const auto second = co_await ctx.call(ask_model, "bye", {.session = session});
    co_return first + " " + second;
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    std::mutex mutex;
    std::map<std::string, std::string> models; // by session: expensive, and only in this process
    registry.add(load_model, [&](durable::ActivityContext& ctx, const std::string& model) {
        const std::scoped_lock lock{mutex};
        models[ctx.info().session.value()] = model;
    });
    registry.add(ask_model, [&](durable::ActivityContext& ctx, const std::string& text) {
        const std::scoped_lock lock{mutex};
        return models.at(ctx.info().session.value()) + " says " + text + ".";
    });
    registry.add(chat, talk);
    const auto runtime = durable::Runtime::start(provider, registry, {.worker_node_id = "node-1"});

    const auto run = durable::Client{provider}.start(chat, "parrot").value();
    std::cout << run.wait(10s).value() << '\n';
}
