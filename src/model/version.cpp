#include <durable/version.hpp>

#include <charconv>
#include <system_error>

namespace durable {

std::optional<Version> Version::parse(std::string_view text) noexcept {
    Version version;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::uint64_t* part : {&version.major, &version.minor, &version.patch}) {
        if (part != &version.major) {
            if (at == end || *at != '.') {
                return std::nullopt;
            }
            ++at;
        }
        if (at == end || *at < '0' || *at > '9' || (*at == '0' && at + 1 != end && at[1] != '.')) {
            return std::nullopt;
        }
        const auto [next, error] = std::from_chars(at, end, *part);
        if (error != std::errc{}) {
            return std::nullopt;
        }
        at = next;
    }
    return at == end ? std::optional{version} : std::nullopt;
}

std::string Version::text() const {
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

Version engine_version() noexcept {
    return {.major = 0, .minor = 1, .patch = 0};
}

const std::string& engine_version_text() {
    static const std::string text = engine_version().text();
    return text;
}

} // namespace durable
