#include "base/blocks.hpp"
#include "base/random.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace durable {
namespace {

struct Given {
    unsigned char* block = nullptr;
    std::size_t size = 0;
    unsigned char mark = 0;

    Given() = default;
    Given(std::size_t bytes, unsigned char with)
        : block{static_cast<unsigned char*>(take_block(bytes))}, size{bytes}, mark{with} {
        std::memset(block, mark, size);
    }
    [[nodiscard]] bool untouched() const {
        for (std::size_t i = 0; i < size; ++i) {
            if (block[i] != mark) {
                return false;
            }
        }
        return true;
    }
};

// Takes and gives back blocks of all sizes; no thread may write into another's.
void live(std::uint64_t seed) {
    SeededRandom random{seed};
    std::vector<Given> all(500);
    for (int step = 0; step < 20'000; ++step) {
        auto& given = all[random.next() % all.size()];
        if (given.block != nullptr) {
            ASSERT_TRUE(given.untouched());
            give_block_back(std::exchange(given.block, nullptr), given.size);
        } else {
            const auto size = random.next() % (largest_block + 200);
            given = Given{size, static_cast<unsigned char>(random.next())};
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(given.block) % alignof(std::uint64_t), 0u);
        }
    }
    for (const auto& given : all) {
        if (given.block != nullptr) {
            ASSERT_TRUE(given.untouched());
            give_block_back(given.block, given.size);
        }
    }
}

TEST(Blocks, BelongToOneOwnerAtATime) {
    live(1);
}

TEST(Blocks, MayBeTakenAndGivenBackByAnyThread) {
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 10; seed < 14; ++seed) {
            threads.emplace_back([seed] { live(seed); });
        }
    }
    auto* block = static_cast<int*>(take_block(sizeof(int)));
    *block = 5;
    std::jthread{[&] { give_block_back(block, sizeof(int)); }}.join();
}

TEST(Blocks, OfNoBytesAreBlocksAndNoneIsNothing) {
    auto* first = take_block(0);
    auto* second = take_block(0);

    EXPECT_NE(first, second);
    give_block_back(first, 0);
    give_block_back(second, 0);
    give_block_back(nullptr, 8);
    if (!block_usage().plain) { // a sanitizer ends the process
        EXPECT_THROW((void)take_block(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
    }
}

TEST(Blocks, StandTogetherWithNothingInBetween) {
    if (block_usage().plain) {
        EXPECT_EQ(block_usage().chunks, 0u);
        return; // they are the general allocator's
    }
    constexpr std::size_t count = 100'000;
    constexpr std::size_t size = 104;
    const auto before = block_usage().chunks;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(take_block(size));
    }
    const auto bytes = (block_usage().chunks - before) * 65'536;

    EXPECT_LT(bytes, count * size * 101 / 100 + 65'536);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), count);
    for (auto* block : blocks) {
        give_block_back(block, size);
    }
}

std::size_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t total = 0;
    std::size_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Blocks, ThatAreGivenBackLeaveTheProcess) {
    if (block_usage().plain) {
        EXPECT_EQ(block_usage().chunks, 0u);
        return; // they are the general allocator's
    }
    constexpr std::size_t megabytes = 64;
    constexpr std::size_t size = 256;
    constexpr std::size_t count = (megabytes << 20U) / size;
    std::vector<Given> all;
    all.reserve(count);
    const auto chunks = block_usage().chunks;
    for (std::size_t i = 0; i < count; ++i) {
        all.emplace_back(size, static_cast<unsigned char>(i));
    }
    const auto full = resident_bytes();
    SeededRandom random{5};
    for (std::size_t i = count; i > 1; --i) {
        std::swap(all[i - 1], all[random.next() % i]); // in any order
    }
    for (const auto& given : all) {
        give_block_back(given.block, given.size);
    }

    EXPECT_LE(block_usage().chunks, chunks + 1);
    EXPECT_LT(resident_bytes() + (megabytes << 20U) * 3 / 4, full);
    const auto addresses = block_usage().free_chunks;
    EXPECT_GE(addresses * 65'536, megabytes << 20U);
    for (auto& given : all) {
        given = Given{size, 1}; // in the same places
    }
    EXPECT_LE(block_usage().free_chunks, addresses - (megabytes << 20U) / 65'536 + 1);
    for (const auto& given : all) {
        give_block_back(given.block, given.size);
    }
}

TEST(Blocks, HoldObjectsAndContainers) {
    struct Thing : InBlocks {
        std::uint64_t a = 7;
        std::uint64_t b = 8;
    };
    const auto thing = std::make_unique<Thing>();
    std::vector<Thing, BlockAllocator<Thing>> things(3);
    things.resize(500); // larger than any block
    things.shrink_to_fit();

    EXPECT_EQ(thing->a + thing->b, 15u);
    EXPECT_EQ(things.back().b, 8u);
}

} // namespace
} // namespace durable
