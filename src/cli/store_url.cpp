#include "cli/store_url.hpp"

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/try.hpp"
#include "cli/fs_factory.hpp"
#if DURABLE_SQLITE
#include "cli/sqlite_factory.hpp"
#endif

#include <durable/fs.hpp>
#include <durable/memory.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace durable::cli {

namespace {

using validation::Factory;

struct StoreKind {
    std::string_view scheme;
    std::string_view place; // what follows the colon, for people; empty: nothing may follow
    Result<std::unique_ptr<Factory>> (*validation_factory)(const std::string& place);
    ScratchStore (*scratch_store)(const std::string& place);
};

// "bench-4711-1": of this process, and never twice.
std::string scratch_name() {
    static std::atomic<std::uint64_t> made{0};
    return "bench-" + std::to_string(process_id()) + "-" + std::to_string(++made);
}

// The directories that opening a store there will make, the innermost first.
std::vector<std::string> missing_directories(const std::string& place) {
    std::vector<std::string> missing;
    auto path = std::filesystem::path{place};
    for (std::error_code failed; !path.empty() && !std::filesystem::exists(path, failed);
         path = path.parent_path()) {
        missing.push_back(path.string());
    }
    return missing;
}

ScratchStore scratch_directory(const std::string& place) {
    const auto path = place + "/" + scratch_name();
    return {.directory = place,
            .open = [path] { return fs::open(path); },
            // Points to nothing: only its deleter is used.
            .files = std::shared_ptr<void>{
                nullptr, [path, made = missing_directories(place)](std::nullptr_t) {
                    (void)remove_tree(system_files(), path);
                    for (const auto& directory : made) { // one that is in use is not empty, stays
                        (void)system_files().remove_directory(directory);
                    }
                }}};
}

ScratchStore scratch_memory(const std::string&) {
    return {.open = []() -> Result<std::shared_ptr<Provider>> { return memory::open(); }};
}

#if DURABLE_SQLITE
ScratchStore scratch_sqlite(const std::string& place) {
    if (place == ":memory:") {
        return {
            .open = [place]() -> Result<std::shared_ptr<Provider>> { return sqlite::open(place); }};
    }
    const auto path = place + "-" + scratch_name();
    return {.directory = std::string{parent_path(place)},
            .open = [path] { return sqlite::open(path); },
            .files = std::shared_ptr<void>{nullptr, [path](std::nullptr_t) {
                                               for (const auto* part : {"", "-wal", "-shm"}) {
                                                   (void)system_files().remove(path + part);
                                               }
                                           }}};
}
#endif

// One entry per provider.
constexpr StoreKind kinds[] = {
    {.scheme = "memory",
     .place = "",
     .validation_factory = [](const std::string&) -> Result<std::unique_ptr<Factory>> {
         return validation::memory_factory();
     },
     .scratch_store = scratch_memory},
    {.scheme = "fs",
     .place = "DIR",
     .validation_factory = [](const std::string& place) -> Result<std::unique_ptr<Factory>> {
         return std::make_unique<FsFactory>(place);
     },
     .scratch_store = scratch_directory},
#if DURABLE_SQLITE
    {.scheme = "sqlite",
     .place = "FILE",
     .validation_factory = [](const std::string& place) -> Result<std::unique_ptr<Factory>> {
         return std::make_unique<SqliteFactory>(place);
     },
     .scratch_store = scratch_sqlite},
#endif
};

std::string form_of(const StoreKind& kind) {
    return std::string{kind.scheme} + ":" + std::string{kind.place};
}

struct StoreUrl {
    const StoreKind* kind;
    std::string place;
};

Result<StoreUrl> parse(std::string_view url) {
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
    return StoreUrl{.kind = kind, .place = place};
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
    DURABLE_TRY_ASSIGN(const auto parsed, parse(url));
    return parsed.kind->validation_factory(parsed.place);
}

Result<ScratchStore> scratch_store(std::string_view url) {
    DURABLE_TRY_ASSIGN(const auto parsed, parse(url));
    return parsed.kind->scratch_store(parsed.place);
}

} // namespace durable::cli
