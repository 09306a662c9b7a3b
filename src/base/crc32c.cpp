#include "base/crc32c.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace durable {

namespace {

// Eight tables let the fallback take eight bytes per step: table[k][b] is the checksum of the byte
// b followed by k zero bytes.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

consteval Tables make_tables() {
    constexpr std::uint32_t polynomial = 0x82F63B78; // reflected
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        }
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const auto shorter = tables[k - 1][byte];
            tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
        }
    }
    return tables;
}

constexpr Tables tables = make_tables();

std::uint64_t load64(const char* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        word = __builtin_bswap64(word);
    }
    return word;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t hardware(std::string_view bytes,
                                                         std::uint32_t state) noexcept {
    std::uint64_t wide = state;
    while (bytes.size() >= 8) {
        wide = _mm_crc32_u64(wide, load64(bytes.data()));
        bytes.remove_prefix(8);
    }
    auto narrow = static_cast<std::uint32_t>(wide);
    for (const char byte : bytes) {
        narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
    }
    return narrow;
}

bool has_hardware() noexcept {
    static const bool found = __builtin_cpu_supports("sse4.2") != 0;
    return found;
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

std::uint32_t hardware(std::string_view bytes, std::uint32_t state) noexcept {
    while (bytes.size() >= 8) {
        state = __crc32cd(state, load64(bytes.data()));
        bytes.remove_prefix(8);
    }
    for (const char byte : bytes) {
        state = __crc32cb(state, static_cast<unsigned char>(byte));
    }
    return state;
}

constexpr bool has_hardware() noexcept {
    return true;
}

#else

std::uint32_t hardware(std::string_view, std::uint32_t state) noexcept {
    return state;
}

constexpr bool has_hardware() noexcept {
    return false;
}

#endif

} // namespace

std::uint32_t detail::crc32c_portable(std::string_view bytes, std::uint32_t previous) noexcept {
    std::uint32_t state = ~previous;
    while (bytes.size() >= 8) {
        const std::uint64_t word = load64(bytes.data()) ^ state;
        state = 0;
        for (std::size_t k = 0; k < 8; ++k) {
            state ^= tables[7 - k][(word >> (8 * k)) & 0xFF];
        }
        bytes.remove_prefix(8);
    }
    for (const char byte : bytes) {
        state = (state >> 8) ^ tables[0][(state ^ static_cast<unsigned char>(byte)) & 0xFF];
    }
    return ~state;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous) noexcept {
    return has_hardware() ? ~hardware(bytes, ~previous) : detail::crc32c_portable(bytes, previous);
}

} // namespace durable
