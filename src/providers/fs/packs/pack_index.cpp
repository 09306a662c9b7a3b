#include "providers/fs/packs/pack_index.hpp"

#include <algorithm>
#include <functional>

namespace durable::fs {

namespace {

std::uint64_t hash_of(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

} // namespace

void PackIndex::use_number(std::uint64_t number) {
    next_number_ = std::max(next_number_, static_cast<std::uint32_t>(number) + 1);
}

Pack& PackIndex::add_pack(const PackRecord& record, const std::vector<PackLine>& lines) {
    auto pack = std::make_shared<Pack>();
    pack->record = record;
    pack->record.dead.clear();
    pack->ends.reserve(lines.size());
    pack->live.resize(lines.size(), false);
    auto end = first_frame_at(record.number);
    for (std::uint32_t line = 0; line < lines.size(); ++line) {
        end += lines[line].size;
        pack->ends.push_back(end);
        if (lines[line].parent) {
            pack->children.emplace_back(hash_of(*lines[line].parent), line);
        }
    }
    std::ranges::sort(pack->children);
    use_number(record.number);
    return *(packs_[static_cast<std::uint32_t>(record.number)] = std::move(pack));
}

void PackIndex::revive(PackPlace place, std::string_view id) {
    auto& pack = *packs_.at(place.pack);
    pack.live[place.line] = true;
    ++pack.live_lines;
    pack.live_bytes += pack.ends[place.line] - pack.begin_of(place.line);
    const auto hash = hash_of(id);
    insert(shard(hash), {.hash = hash, .place = place});
    ++lines_;
}

void PackIndex::kill(PackPlace place, std::string_view id) {
    auto& pack = *packs_.at(place.pack);
    if (!pack.live[place.line]) {
        return;
    }
    pack.live[place.line] = false;
    --pack.live_lines;
    pack.live_bytes -= pack.ends[place.line] - pack.begin_of(place.line);
    const auto hash = hash_of(id);
    erase(shard(hash), {.hash = hash, .place = place});
    --lines_;
}

std::vector<std::shared_ptr<const Pack>> PackIndex::take_dead() {
    std::vector<std::shared_ptr<const Pack>> dead;
    for (auto pack = packs_.begin(); pack != packs_.end();) {
        if (pack->second->live_lines == 0) {
            dead.push_back(std::move(pack->second));
            pack = packs_.erase(pack);
        } else {
            ++pack;
        }
    }
    return dead;
}

std::shared_ptr<const Pack> PackIndex::find_pack(std::uint32_t number) const {
    const auto found = packs_.find(number);
    return found == packs_.end() ? nullptr : found->second;
}

void PackIndex::set_damaged(std::uint32_t number) {
    if (const auto found = packs_.find(number); found != packs_.end()) {
        found->second->damaged = true;
    }
}

bool PackIndex::live(PackPlace place) const {
    const auto found = packs_.find(place.pack);
    return found != packs_.end() && found->second->live[place.line];
}

std::vector<PackPlace> PackIndex::candidates(std::string_view id) const {
    std::vector<PackPlace> found;
    const auto hash = hash_of(id);
    const auto& entries = shards_[hash >> (64U - shard_bits)].entries;
    if (entries.empty()) {
        return found;
    }
    const auto mask = entries.size() - 1;
    for (auto at = hash & mask; entries[at].place.pack != 0; at = (at + 1) & mask) {
        if (entries[at].hash == hash) {
            found.push_back(entries[at].place);
        }
    }
    return found;
}

std::vector<PackPlace> PackIndex::children_of(std::string_view parent) const {
    std::vector<PackPlace> found;
    const auto hash = hash_of(parent);
    for (const auto& [number, pack] : packs_) {
        const auto& children = pack->children;
        auto child = std::ranges::lower_bound(children, std::pair{hash, std::uint32_t{0}});
        for (; child != children.end() && child->first == hash; ++child) {
            if (pack->live[child->second]) {
                found.push_back({.pack = number, .line = child->second});
            }
        }
    }
    return found;
}

std::vector<std::uint32_t> PackIndex::worth_compacting(std::uint64_t bytes,
                                                       std::size_t many_small) const {
    std::vector<std::uint32_t> chosen;
    std::size_t small = 0;
    bool dead_enough = false;
    std::uint64_t sum = 0;
    for (const auto& [number, pack] : packs_) {
        const auto data = pack->record.index_at;
        const auto wasteful = (data - pack->live_bytes) * 5 > data;
        const auto is_small = data * 4 < bytes;
        if (pack->damaged || (!wasteful && !is_small) ||
            (!chosen.empty() && sum + pack->live_bytes > bytes)) {
            continue;
        }
        chosen.push_back(number);
        sum += pack->live_bytes;
        small += is_small ? 1U : 0U;
        dead_enough = dead_enough || wasteful;
    }
    return dead_enough || small >= many_small ? chosen : std::vector<std::uint32_t>{};
}

std::vector<PackRecord> PackIndex::records() const {
    std::vector<PackRecord> records;
    records.reserve(packs_.size());
    for (const auto& [number, pack] : packs_) {
        auto& record = records.emplace_back(pack->record);
        for (std::uint64_t line = 0; line < pack->live.size(); ++line) {
            if (!pack->live[line]) {
                record.dead.push_back(line);
            }
        }
    }
    return records;
}

// ---- The table

void PackIndex::insert(Shard& shard, const Entry& entry) {
    if ((shard.used + 1) * 4 > shard.entries.size() * 3) {
        grow(shard);
    }
    const auto mask = shard.entries.size() - 1;
    auto at = entry.hash & mask;
    while (shard.entries[at].place.pack != 0) {
        at = (at + 1) & mask;
    }
    shard.entries[at] = entry;
    ++shard.used;
}

void PackIndex::grow(Shard& shard) {
    constexpr std::size_t least = 8;
    std::vector<Entry> old(std::max(least, shard.entries.size() * 2));
    old.swap(shard.entries);
    shard.used = 0;
    for (const auto& entry : old) {
        if (entry.place.pack != 0) {
            insert(shard, entry);
        }
    }
}

void PackIndex::erase(Shard& shard, const Entry& entry) {
    auto& entries = shard.entries;
    const auto mask = entries.size() - 1;
    auto at = entry.hash & mask;
    while (entries[at].place != entry.place) {
        at = (at + 1) & mask;
    }
    // Moves entries into the hole that a probe would not find across it.
    auto hole = at;
    for (auto next = (hole + 1) & mask; entries[next].place.pack != 0; next = (next + 1) & mask) {
        const auto home = entries[next].hash & mask;
        if (((next - home) & mask) >= ((next - hole) & mask)) {
            entries[hole] = entries[next];
            hole = next;
        }
    }
    entries[hole] = {};
    --shard.used;
}

} // namespace durable::fs
