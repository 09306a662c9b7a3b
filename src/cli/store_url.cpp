#include "cli/store_url.hpp"

#include "cli/fs_factory.hpp"

#include <algorithm>
#include <string>

namespace durable::cli {

namespace {

using validation::Factory;

struct StoreKind {
    std::string_view scheme;
    std::string_view place; // what follows the colon, for people; empty: nothing may
    Result<std::unique_ptr<Factory>> (*validation_factory)(const std::string& place);
};

// One line per provider.
constexpr StoreKind kinds[] = {
    {.scheme = "memory",
     .place = "",
     .validation_factory = [](const std::string&) -> Result<std::unique_ptr<Factory>> {
         return validation::memory_factory();
     }},
    {.scheme = "fs",
     .place = "DIR",
     .validation_factory = [](const std::string& place) -> Result<std::unique_ptr<Factory>> {
         return std::make_unique<FsFactory>(place);
     }},
};

std::string form_of(const StoreKind& kind) {
    return std::string{kind.scheme} + ":" + std::string{kind.place};
}

} // namespace

std::string known_stores() {
    std::string known;
    for (const auto& kind : kinds) {
        known += (known.empty() ? "" : ", ") + form_of(kind);
    }
    return known;
}

Result<std::unique_ptr<Factory>> validation_factory(std::string_view url) {
    const auto colon = url.find(':');
    const auto scheme = url.substr(0, colon);
    const auto* kind = std::ranges::find(kinds, scheme, &StoreKind::scheme);
    if (colon == std::string_view::npos || kind == std::end(kinds)) {
        return fail(ErrorCode::invalid_argument,
                    "unknown store '" + std::string{url} + "', known are: " + known_stores());
    }
    const std::string place{url.substr(colon + 1)};
    if (place.empty() != kind->place.empty()) {
        return fail(ErrorCode::invalid_argument,
                    "'" + std::string{url} + "' should look like " + form_of(*kind));
    }
    return kind->validation_factory(place);
}

} // namespace durable::cli
