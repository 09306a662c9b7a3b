#include "power_cut/stores.hpp"

#include "base/files.hpp"
#include "base/random.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/verify.hpp"

#include <durable/sqlite.hpp>
#include <durable/testing.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include <files_provider.hpp>
#include <sqlite3.h>

namespace durable::power_cut {

namespace {

std::shared_ptr<Clock> clock_of(std::uint64_t life) {
    auto clock = std::make_shared<ManualClock>();
    clock->advance(std::chrono::days{365 * (life + 1)});
    return clock;
}

std::string flaw_of_directory(const std::string& path) {
    if (!std::filesystem::exists(path + "/FORMAT")) {
        return {}; // is written when all else has been made
    }
    const auto found = fs::verify(system_files(), path, system_clock()->now());
    if (!found) {
        return found.error().code == ErrorCode::not_found ? "" : found.error().text();
    }
    return found->clean() ? "" : found->damage.front();
}

std::string flaw_of_database(const std::string& path) {
    if (!std::filesystem::exists(path)) {
        return {};
    }
    sqlite3* db = nullptr;
    std::string said;
    const auto note = [](void* to, int, char** columns, char**) {
        *static_cast<std::string*>(to) += columns[0];
        return 0;
    };
    auto code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
    if (code == SQLITE_OK) {
        code = sqlite3_exec(db, "PRAGMA integrity_check", note, &said, nullptr);
    }
    const std::string flaw = code != SQLITE_OK ? sqlite3_errmsg(db) : said == "ok" ? "" : said;
    sqlite3_close(db);
    return flaw;
}

} // namespace

Result<std::shared_ptr<Provider>> open_store(const StorePlace& place) {
    constexpr Timespan for_ever = std::chrono::hours::max();
    if (place.kind == Kind::sqlite) {
        return sqlite::open(place.path(),
                            {.clock = clock_of(place.life), .unstarted_message_ttl = for_ever});
    }
    if (place.kind == Kind::files) {
        return files_store::open(
            place.path(), {.clock = clock_of(place.life), .unstarted_message_ttl = for_ever});
    }
    fs::Machine machine;
    if (place.tight()) {
        machine.segment_sizes = {.first = 1U << 16U, .largest = 1U << 17U};
        machine.checkpoint_bytes = 1U << 17U;
        machine.checkpoint_piece = 1U << 12U;
        machine.pack_bytes = 1U << 12U;
        machine.small_packs = 3;
        machine.most_copies = 8;
    }
    return fs::FsProvider::open(
        place.path(), {.clock = clock_of(place.life), .unstarted_message_ttl = for_ever}, machine);
}

std::string flaw_of_store(const StorePlace& place) {
    switch (place.kind) {
    case Kind::fs:
        return flaw_of_directory(place.path());
    case Kind::sqlite:
        return flaw_of_database(place.path());
    case Kind::files:
        return {};
    }
    return {};
}

std::string make_payload(std::string_view tag, std::size_t size) {
    // Not a multiple of a sector: no two sectors of a large one are alike.
    constexpr std::size_t period = 1021;
    std::string letters;
    SeededRandom random{std::hash<std::string_view>{}(tag)};
    while (letters.size() < std::min(size, period)) {
        auto bits = random.next();
        for (std::size_t letter = 0; letter < sizeof bits; ++letter, bits >>= 8U) {
            letters += static_cast<char>('a' + bits % 16);
        }
    }
    std::string made = std::string{tag} + ":" + std::to_string(size) + ":";
    const auto end = made.size() + size;
    made.reserve(end + letters.size());
    while (made.size() < end) {
        made += letters;
    }
    made.resize(end);
    return made;
}

bool is_payload(std::string_view tag, std::string_view payload) {
    const auto begin = tag.size() + 1;
    const auto end = payload.find(':', begin);
    std::size_t size = 0;
    if (end == std::string_view::npos ||
        std::from_chars(payload.data() + begin, payload.data() + end, size).ptr !=
            payload.data() + end) {
        return false;
    }
    return size <= payload.size() && make_payload(tag, size) == payload;
}

} // namespace durable::power_cut
