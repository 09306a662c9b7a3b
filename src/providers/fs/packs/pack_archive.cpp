#include "providers/fs/packs/pack_archive.hpp"

#include "base/try.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/image_codec.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace durable::fs {

namespace {

std::uint64_t key_of(PackPlace place) {
    return (std::uint64_t{place.pack} << 32U) | place.line;
}

} // namespace

Result<> PackArchive::load(const PackRecord& record) {
    DURABLE_TRY_ASSIGN(const auto lines, read_pack_index(files_, directory_, record));
    std::vector<bool> live(lines.size(), true);
    for (const auto dead : record.dead) {
        live[dead] = false;
    }
    return add(record, lines, live);
}

Result<> PackArchive::add(const PackRecord& record,
                          const std::vector<PackLine>& lines,
                          const std::vector<bool>& live) {
    packs.add_pack(record, lines);
    for (std::uint32_t line = 0; line < lines.size(); ++line) {
        if (!live[line]) {
            continue;
        }
        const auto& said = lines[line];
        if (holds(said.id)) {
            return fail(ErrorCode::corrupt,
                        pack_path(directory_, record.number) + ": a second instance \"" + said.id +
                            "\"");
        }
        packs.revive({.pack = static_cast<std::uint32_t>(record.number), .line = line}, said.id);
        ledger_.count_archived(said.status, said.executions, said.events);
    }
    return {};
}

bool PackArchive::holds(std::string_view id) const {
    const auto places = packs.candidates(id); // by hash
    return std::ranges::any_of(places, [&](PackPlace place) {
        const auto image =
            read(files_, directory_, {.place = place, .pack = packs.find_pack(place.pack)});
        return image && image->id == id;
    });
}

// ---- Bringing back

// A failed read, unlike a sync, may be repeated: tries twice.
Result<ledger::InstanceImage>
PackArchive::read(Files& files, const std::string& directory, const Wanted& wanted) {
    const auto& pack = *wanted.pack;
    const auto at = pack.begin_of(wanted.place.line);
    const auto size = pack.ends[wanted.place.line] - at;
    auto frame = read_pack_frame(files, directory, pack.record.number, at, size);
    if (!frame && frame.error().code != ErrorCode::corrupt) {
        frame = read_pack_frame(files, directory, pack.record.number, at, size);
    }
    DURABLE_TRY(frame);
    return decode_image(*read_frame(*frame));
}

void PackArchive::bring_line(PackPlace place) {
    if (lines_here_.contains(key_of(place))) {
        return;
    }
    Wanted wanted{.place = place, .pack = packs.find_pack(place.pack)};
    if (deferring_) {
        wanted_.push_back(std::move(wanted));
        return;
    }
    if (auto image = read(files_, directory_, wanted)) {
        install(place, *std::move(image));
    } else {
        unreadable_ = std::move(image).error();
    }
}

void PackArchive::install(PackPlace place, ledger::InstanceImage image) {
    if (!packs.live(place) || ledger_.instances.find_here(image.id) != nullptr) {
        return;
    }
    arrivals_.emplace_back(++next_arrival_, image.id);
    copies_.insert_or_assign(image.id, Copy{.place = place, .arrival = next_arrival_});
    lines_here_.insert(key_of(place));
    ledger_.bring_back(std::move(image));
}

void PackArchive::bring(std::string_view id) {
    for (const auto place : packs.candidates(id)) {
        bring_line(place);
    }
}

void PackArchive::bring_children(std::string_view parent) {
    for (const auto place : packs.children_of(parent)) {
        bring_line(place);
    }
}

Result<> PackArchive::looked() {
    if (unreadable_) {
        auto error = *std::exchange(unreadable_, std::nullopt);
        return std::unexpected{std::move(error)};
    }
    return wanted_.empty() ? Result<>{} : fail(ErrorCode::unavailable, "it is still on the disk");
}

std::vector<PackArchive::Wanted> PackArchive::take_wanted() {
    deferring_ = false;
    auto wanted = std::exchange(wanted_, {});
    const auto key = [](const Wanted& one) { return key_of(one.place); };
    std::ranges::sort(wanted, {}, key);
    const auto twice = std::ranges::unique(wanted, {}, key);
    wanted.erase(twice.begin(), twice.end());
    return wanted;
}

Result<std::vector<std::string>> PackArchive::bring_touched(const ledger::Record& record) {
    auto ids = ledger::touched(ledger_, record);
    for (const auto& id : ids) {
        (void)ledger_.instances.find(id);
    }
    DURABLE_TRY(looked());
    deferring_ = false; // applying the record needs all of them
    return ids;
}

// ---- Copies

void PackArchive::forget(std::unordered_map<std::string, Copy>::iterator copy) {
    lines_here_.erase(key_of(copy->second.place));
    copies_.erase(copy);
}

std::uint64_t PackArchive::forget_copies(const std::vector<std::string>& ids) {
    std::uint64_t killed = 0;
    for (const auto& id : ids) {
        auto* instance = ledger_.instances.find_here(id);
        if (instance == nullptr || instance->copy == ledger::Instance::Copy::none) {
            continue;
        }
        instance->copy = ledger::Instance::Copy::none;
        if (const auto copy = copies_.find(id); copy != copies_.end()) {
            packs.kill(copy->second.place, id);
            ++killed;
            forget(copy);
        }
    }
    return killed;
}

void PackArchive::move_copy(const std::string& id, PackPlace place) {
    if (const auto copy = copies_.find(id); copy != copies_.end()) {
        lines_here_.erase(key_of(copy->second.place));
        lines_here_.insert(key_of(place));
        copy->second.place = place;
    }
}

// Frees memory: copies can be read again.
void PackArchive::drop_copies(std::size_t most) {
    constexpr int most_at_once = 256;
    // An instance that has changed is no copy any more; its entry in arrivals_ remains.
    const auto spare = [&] {
        return copies_.size() > most || arrivals_.size() > 2 * copies_.size();
    };
    for (int seen = 0; seen < most_at_once && !arrivals_.empty() && spare(); ++seen) {
        const auto [arrival, id] = std::move(arrivals_.front());
        arrivals_.pop_front();
        const auto copy = copies_.find(id);
        if (copy == copies_.end() || copy->second.arrival != arrival) {
            continue;
        }
        if (copies_.size() <= most) {
            arrivals_.emplace_back(arrival, id); // keeps this one
            continue;
        }
        if (auto* instance = ledger_.instances.find_here(id); instance != nullptr) {
            ledger_.set_aside(*instance);
        }
        forget(copy);
    }
}

} // namespace durable::fs
