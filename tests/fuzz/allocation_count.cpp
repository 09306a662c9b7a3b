#include "fuzz/allocation_count.hpp"

#include <cstdlib>
#include <new>

// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is the allocator

namespace {

thread_local std::size_t allocated = 0;

} // namespace

void* operator new(std::size_t size) {
    allocated += size;
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

// NOLINTEND(cppcoreguidelines-no-malloc)

namespace durable::fuzz {

std::size_t allocated_bytes() noexcept {
    return allocated;
}

} // namespace durable::fuzz
