// A runtime on the store in examples/providers/files: what the kit proves call by call is enough.

#include "files_store/files_stores.hpp"

#include <durable/durable.hpp>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace files_store {
namespace {

using namespace std::chrono_literals;

constexpr durable::Activity<std::string(std::string)> greet{"Greet"};
constexpr durable::Orchestration<std::string(std::string)> hello{"Hello"};
constexpr durable::Orchestration<std::string(std::string)> politely{"Politely"};

durable::Task<std::string> say_hello(durable::Context ctx, std::string name) {
    co_return co_await ctx.call(greet, name);
}

durable::Task<std::string> say_it_twice(durable::Context ctx, std::string name) {
    const auto first = co_await ctx.call(hello, name);
    co_await ctx.sleep(20ms);
    const auto second = co_await ctx.call(hello, name);
    co_return first + second;
}

TEST(FilesHello, ARuntimeRunsActivitiesTimersAndChildrenOnIt) {
    const ScratchDirectory scratch;
    durable::Registry registry;
    registry.add(greet, [](const std::string& name) { return "Hello, " + name + "! "; });
    registry.add(hello, say_hello);
    registry.add(politely, say_it_twice);
    {
        const auto store = open(scratch.path()).value();
        const auto runtime = durable::Runtime::start(store, registry);

        const auto run = durable::Client{store}.start(politely, "world", {.id = "twice"}).value();

        EXPECT_EQ(run.wait(30s).value(), "Hello, world! Hello, world! ");
    }
    const auto store = open(scratch.path()).value();
    EXPECT_EQ(store->watch_instance({.instance = "twice"}).value().status,
              durable::ExecutionStatus::completed);
}

} // namespace
} // namespace files_store
