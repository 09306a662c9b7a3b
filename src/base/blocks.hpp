// Blocks: memory for small things that are kept by the million.
//
// The general allocator adds eight bytes to a block, rounds it up to sixteen and mixes it with the
// other allocations of its thread: when a million small blocks are freed, the process keeps their
// memory. Here blocks of one size stand together without gaps, and a chunk without blocks goes back
// to the system.
//
// Any thread may call. Under a sanitizer these are plain allocations, so that it sees each of them.

#pragma once

#include <cstddef>

namespace durable {

inline constexpr std::size_t block_grain = 8;
inline constexpr std::size_t largest_block = 1024; // beyond it, a plain allocation

[[nodiscard]] void* take_block(std::size_t size); // aligned to 8; throws as operator new does
void give_block_back(void* block, std::size_t size) noexcept; // nullptr: nothing

// A base class for objects that are made with new, one by one.
struct InBlocks {
    static void* operator new(std::size_t size) { return take_block(size); }
    static void operator delete(void* block, std::size_t size) noexcept {
        give_block_back(block, size);
    }
};

// For containers.
template <class T>
struct BlockAllocator {
    using value_type = T;
    static_assert(alignof(T) <= alignof(std::size_t));

    BlockAllocator() = default;
    template <class Other>
    explicit(false) BlockAllocator(const BlockAllocator<Other>&) noexcept {}

    [[nodiscard]] T* allocate(std::size_t count) {
        return static_cast<T*>(take_block(count * sizeof(T))); // containers check for overflow
    }
    void deallocate(T* block, std::size_t count) noexcept {
        give_block_back(block, count * sizeof(T));
    }
    bool operator==(const BlockAllocator&) const = default;
};

// The memory that blocks take from the system, for tests.
struct BlockUsage {
    bool plain = false;          // under a sanitizer: no chunks
    std::size_t chunks = 0;      // with blocks, or kept for the next ones
    std::size_t free_chunks = 0; // their memory is given back, their addresses are kept
};
[[nodiscard]] BlockUsage block_usage();

} // namespace durable
