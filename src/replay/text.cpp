#include "replay/text.hpp"

#include "model/json_text.hpp"
#include "model/json_writer.hpp"
#include "replay/turn_result.hpp"

#include <array>
#include <cstddef>

namespace durable::replay {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

// A mixer in the manner of splitmix64: every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

std::uint64_t hash(const UuidSeed& seed, std::uint64_t salt) noexcept {
    std::uint64_t state = mix(salt);
    for (const char c : seed.instance) {
        state = mix(state + 0x9e3779b97f4a7c15U + wire::byte_of(c));
    }
    for (const auto part : {std::uint64_t{seed.instance.size()},
                            seed.execution_id,
                            seed.started_at_ms,
                            seed.counter}) {
        state = mix(state + 0x9e3779b97f4a7c15U) ^ mix(part);
    }
    return mix(state);
}

} // namespace

std::string json_string(std::string_view text) {
    std::string out;
    wire::JsonWriter writer{out};
    writer.string(text, "text");
    static_cast<void>(writer.finish("json_string")); // the caller has checked that it is UTF-8
    return out;
}

std::string location_text(const std::source_location& where) {
    const std::string_view path{where.file_name()};
    if (path.empty()) {
        return {};
    }
    const auto slash = path.find_last_of("/\\");
    auto text = printable(slash == std::string_view::npos ? path : path.substr(slash + 1));
    return text + ':' + std::to_string(where.line());
}

std::string continue_at(const std::source_location& where) {
    return "continue_as_new, called at " + location_text(where) + ", ";
}

std::string derived_uuid(const UuidSeed& seed) {
    auto high = hash(seed, 1);
    auto low = hash(seed, 2);
    high = (high & ~std::uint64_t{0xF000}) | 0x8000U;                     // version 8
    low = (low & ~(std::uint64_t{3} << 62U)) | (std::uint64_t{2} << 62U); // RFC 9562 variant

    std::string text;
    text.reserve(36);
    for (unsigned digit = 0; digit < 32; ++digit) {
        if (digit == 8 || digit == 12 || digit == 16 || digit == 20) {
            text += '-';
        }
        const auto half = digit < 16 ? high : low;
        text += hex_digits[(half >> (60U - 4U * (digit % 16U))) & 0xFU];
    }
    return text;
}

std::string kv_read_input(std::string_view instance, std::string_view key) {
    return R"({"instance_id":)" + json_string(instance) + R"(,"key":)" + json_string(key) + "}";
}

std::string kv_read_result(const std::optional<std::string>& value) {
    return value ? json_string(*value) : "null";
}

} // namespace durable::replay
