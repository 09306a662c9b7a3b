// Tags: activities for special machines. Here one runtime orchestrates, another one has the GPU.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Activity<std::string(std::string)> render{"Render"};
constexpr durable::Activity<std::string(std::string)> sketch{"Sketch"};
constexpr durable::Orchestration<std::string(std::string)> picture{"Picture"};

durable::Task<std::string> draw(durable::Context ctx, std::string what) {
    const auto draft = co_await ctx.call(sketch, what);
    const auto fine = co_await ctx.within(1h, ctx.call(render, draft, {.tag = "gpu"}));
    co_return fine ? *fine : draft + ", unrendered";
}

int main() {
    const auto provider = durable::memory::open();

    durable::Registry office;
    office.add(sketch, [](const std::string& what) { return "sketch of " + what; });
    office.add(picture, draw);
    const auto office_runtime = durable::Runtime::start(provider, office);

    durable::Registry basement;
    basement.add(render, [](const std::string& draft) { return draft + ", rendered"; });
    const auto gpu = durable::TagFilter::tags({"gpu"}).value();
    const auto basement_runtime = durable::Runtime::start(
        provider, basement, {.orchestration_threads = 0, .worker_tag_filter = gpu});

    const auto run = durable::Client{provider}.start(picture, "a cat").value();
    std::cout << run.wait(10s).value() << '\n';
}
