// What the store holds in memory: some kilobytes, however many instances have ended or wait.

#include "files_store/files_stores.hpp"

#include <durable/provider.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>

#include <gtest/gtest.h>
#include <malloc.h>

namespace {

std::atomic<std::size_t> live_bytes = 0;

} // namespace

void* operator new(std::size_t size) {
    auto* const memory = std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    live_bytes += malloc_usable_size(memory);
    return memory;
}

void operator delete(void* memory) noexcept {
    live_bytes -= memory != nullptr ? malloc_usable_size(memory) : 0;
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
    operator delete(memory);
}

namespace files_store {
namespace {

using namespace std::chrono_literals;
namespace work = durable::work;

void run_to_the_end(durable::Provider& store, const std::string& id) {
    ASSERT_TRUE(store.start_instance({.instance = id, .orchestration = "Order"}, std::nullopt));
    const auto turn = store.fetch_orchestration_item({.lock_timeout = 30s}).value();
    ASSERT_TRUE(store.ack_orchestration_item(
        {.lock_token = turn->lock_token,
         .metadata = {.status = durable::ExecutionStatus::completed, .output = "done"},
         .history_delta = {
             {.event_id = 1, .kind = durable::history::OrchestrationStarted{.name = "Order"}}}}));
}

TEST(FilesMemory, IsSomeKilobytesHoweverManyInstancesThereAre) {
    constexpr int instances = 300;
    const ScratchDirectory scratch;
    const auto before = live_bytes.load();

    auto store = open(scratch.path(), {.durability = durable::Durability::process_crash}).value();
    for (int i = 0; i < instances; ++i) {
        run_to_the_end(*store, "ended-" + std::to_string(i));
    }
    const auto ended = live_bytes - before;
    for (int i = 0; i < instances; ++i) {
        ASSERT_TRUE(store->start_instance(
            {.instance = "waiting-" + std::to_string(i), .orchestration = "Order"}, 24h));
    }
    const auto waiting = live_bytes - before;
    ASSERT_TRUE(store->start_instance({.instance = "leased", .orchestration = "Order"}, {}));
    ASSERT_TRUE(store->fetch_orchestration_item({.lock_timeout = 30s}).value());
    const auto leased = live_bytes - before;

    std::cout << "live bytes: " << ended << " after " << instances << " instances, " << waiting
              << " with as many waiting, " << leased << " with a lease\n";
    EXPECT_LT(ended, 4096U);
    EXPECT_EQ(waiting, ended);
    EXPECT_LT(leased - waiting, 1024U);
}

} // namespace
} // namespace files_store
