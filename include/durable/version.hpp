// Semantic versions of engines and orchestrations: 1.2.3, compared number by number.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable {

struct Version {
    std::uint64_t major = 0;
    std::uint64_t minor = 0;
    std::uint64_t patch = 0;

    auto operator<=>(const Version&) const = default;

    // "1.2.3": three decimal numbers without leading zeros, nothing else.
    [[nodiscard]] static std::optional<Version> parse(std::string_view text) noexcept;
    [[nodiscard]] std::string text() const;
};

// Both ends included.
struct VersionRange {
    Version min;
    Version max;

    [[nodiscard]] bool contains(const Version& version) const noexcept {
        return min <= version && version <= max;
    }
    bool operator==(const VersionRange&) const = default;
};

// The version of this library, written into every history event it makes.
[[nodiscard]] Version engine_version() noexcept;
[[nodiscard]] const std::string& engine_version_text();

} // namespace durable
