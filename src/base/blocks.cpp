#include "base/blocks.hpp"

#include "base/mutex.hpp"

#include <array>
#include <cstdint>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace durable {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool plain = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool plain = true;
#else
constexpr bool plain = false;
#endif
#else
constexpr bool plain = false;
#endif

constexpr std::size_t chunk_size = std::size_t{1} << 16U; // and its alignment
constexpr std::size_t region_size = chunk_size * 64;

// Stands at the beginning of its memory.
struct Chunk {
    Chunk* previous = nullptr; // in the list of chunks with room
    Chunk* next = nullptr;
    void* free = nullptr; // list of returned blocks, each with the address of the next one
    std::uint32_t used = 0;
    std::uint32_t fresh = sizeof(Chunk); // offset of the first block that was never taken
};

// Chunks without memory. Their addresses stay mapped: unmapping single chunks would split the
// process's mappings, and the system limits their number.
class Reserve {
 public:
    [[nodiscard]] Chunk* take() DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        if (free_.empty()) {
            map();
        }
        auto* memory = free_.back();
        free_.pop_back();
        return new (memory) Chunk;
    }

    void give_back(Chunk* chunk) noexcept DURABLE_EXCLUDES(mutex_) {
        (void)::madvise(chunk, chunk_size, MADV_DONTNEED); // on failure the memory stays mapped,
                                                           // and is reused
        const MutexLock lock{mutex_};
        free_.push_back(chunk); // cannot throw: map() reserved the room
    }

    [[nodiscard]] BlockUsage usage() DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        return {.plain = plain, .chunks = chunks_ - free_.size(), .free_chunks = free_.size()};
    }

 private:
    void map() DURABLE_REQUIRES(mutex_) {
        free_.reserve(chunks_ + region_size / chunk_size);
        constexpr auto wanted = region_size + chunk_size; // one more, to align the others
        void* mapped =
            ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) {
            throw std::bad_alloc{};
        }
        auto* begin = static_cast<char*>(mapped);
        const auto past = reinterpret_cast<std::uintptr_t>(begin) % chunk_size;
        const auto skipped = past == 0 ? 0 : chunk_size - past;
        if (skipped > 0) {
            (void)::munmap(begin, skipped);
        }
        (void)::munmap(begin + skipped + region_size, chunk_size - skipped);
        for (auto offset = region_size; offset > 0; offset -= chunk_size) {
            free_.push_back(begin + skipped + offset - chunk_size);
        }
        chunks_ += region_size / chunk_size;
    }

    Mutex mutex_;
    std::vector<void*> free_ DURABLE_GUARDED_BY(mutex_);
    std::size_t chunks_ DURABLE_GUARDED_BY(mutex_) = 0;
};

// The blocks of one size.
class Shelf {
 public:
    [[nodiscard]] void* take(std::size_t size, Reserve& reserve) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        if (open_ == nullptr) {
            link(*reserve.take());
        }
        auto& chunk = *open_;
        void* block = chunk.free;
        if (block != nullptr) {
            chunk.free = *static_cast<void**>(block);
        } else {
            block = reinterpret_cast<char*>(&chunk) + chunk.fresh;
            chunk.fresh += static_cast<std::uint32_t>(size);
        }
        ++chunk.used;
        if (is_full(chunk, size)) {
            unlink(chunk);
        }
        return block;
    }

    void give_back(void* block, std::size_t size, Reserve& reserve) noexcept
        DURABLE_EXCLUDES(mutex_) {
        auto* const address = static_cast<char*>(block);
        auto& chunk = *reinterpret_cast<Chunk*>(
            address - reinterpret_cast<std::uintptr_t>(address) % chunk_size);
        const MutexLock lock{mutex_};
        if (is_full(chunk, size)) {
            link(chunk);
        }
        *static_cast<void**>(block) = chunk.free;
        chunk.free = block;
        --chunk.used;
        // The last chunk with room stays: taking and returning a single block then costs nothing.
        if (chunk.used == 0 && (chunk.previous != nullptr || chunk.next != nullptr)) {
            unlink(chunk);
            reserve.give_back(&chunk);
        }
    }

 private:
    static bool is_full(const Chunk& chunk, std::size_t size) noexcept {
        return chunk.free == nullptr && chunk.fresh + size > chunk_size;
    }

    void link(Chunk& chunk) DURABLE_REQUIRES(mutex_) {
        chunk.previous = nullptr;
        chunk.next = open_;
        if (open_ != nullptr) {
            open_->previous = &chunk;
        }
        open_ = &chunk;
    }

    void unlink(Chunk& chunk) DURABLE_REQUIRES(mutex_) {
        (chunk.previous != nullptr ? chunk.previous->next : open_) = chunk.next;
        if (chunk.next != nullptr) {
            chunk.next->previous = chunk.previous;
        }
        chunk.previous = nullptr;
        chunk.next = nullptr;
    }

    Mutex mutex_;
    Chunk* open_ DURABLE_GUARDED_BY(mutex_) = nullptr; // the first chunk with room
};

struct Store {
    Reserve reserve;
    std::array<Shelf, largest_block / block_grain> shelves;
};

Store& store() {
    static auto* const all = new Store; // never destroyed: statics may hold blocks to the end
    return *all;
}

// The index of its shelf. A block of no bytes counts as one of the smallest size.
std::size_t shelf_of(std::size_t size) {
    return size == 0 ? 0 : (size - 1) / block_grain;
}

} // namespace

void* take_block(std::size_t size) {
    if (plain || size > largest_block) {
        return ::operator new(size);
    }
    const auto shelf = shelf_of(size);
    return store().shelves[shelf].take((shelf + 1) * block_grain, store().reserve);
}

void give_block_back(void* block, std::size_t size) noexcept {
    if (block == nullptr) {
        return;
    }
    if (plain || size > largest_block) {
        ::operator delete(block);
        return;
    }
    const auto shelf = shelf_of(size);
    store().shelves[shelf].give_back(block, (shelf + 1) * block_grain, store().reserve);
}

BlockUsage block_usage() {
    return store().reserve.usage();
}

} // namespace durable
