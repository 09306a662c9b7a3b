// PackIndex: finds packed instances by id, in a few dozen bytes of memory each.
//
// Not thread-safe: the store's mutex guards it. A line is one instance of one pack; it is live
// until the instance changes, is deleted, or moves to another pack.

#pragma once

#include "providers/fs/packs/pack_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace durable::fs {

struct PackPlace {
    std::uint32_t pack = 0; // 0: nowhere
    std::uint32_t line = 0;
    bool operator==(const PackPlace&) const = default;
};

struct Pack {
    PackRecord record;               // without `dead`: see live
    std::vector<std::uint64_t> ends; // of each line's frame in the file
    std::vector<bool> live;
    std::uint64_t live_lines = 0;
    std::uint64_t live_bytes = 0;
    // Instances with a parent, by the hash of its id.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> children;
    bool damaged = false; // could not be read: never rewritten

    [[nodiscard]] std::uint64_t begin_of(std::uint32_t line) const {
        return line == 0 ? first_frame_at(record.number) : ends[line - 1];
    }
};

class PackIndex {
 public:
    [[nodiscard]] bool empty() const noexcept { return packs_.empty(); }
    [[nodiscard]] std::uint64_t size() const noexcept { return lines_; } // live ones
    [[nodiscard]] std::uint32_t next_number() const noexcept { return next_number_; }
    void use_number(std::uint64_t number); // the next one is higher

    // A pack with no live line yet.
    Pack& add_pack(const PackRecord& record, const std::vector<PackLine>& lines);
    void revive(PackPlace place, std::string_view id);
    void kill(PackPlace place, std::string_view id);
    // Removes packs without live lines from the index and answers them.
    [[nodiscard]] std::vector<std::shared_ptr<const Pack>> take_dead();

    [[nodiscard]] std::shared_ptr<const Pack> find_pack(std::uint32_t number) const;
    void set_damaged(std::uint32_t number);
    [[nodiscard]] bool live(PackPlace place) const;
    // Live lines whose id may be this one: nearly always one or none.
    [[nodiscard]] std::vector<PackPlace> candidates(std::string_view id) const;
    [[nodiscard]] std::vector<PackPlace> children_of(std::string_view parent) const;

    // Packs to rewrite together, up to about `bytes` of live data: those with many dead lines, and
    // small ones when there are many.
    [[nodiscard]] std::vector<std::uint32_t> worth_compacting(std::uint64_t bytes,
                                                              std::size_t many_small) const;

    [[nodiscard]] const std::map<std::uint32_t, std::shared_ptr<Pack>>& packs() const noexcept {
        return packs_;
    }
    [[nodiscard]] std::vector<PackRecord> records() const;

 private:
    struct Entry {
        std::uint64_t hash = 0;
        PackPlace place;
    };
    // Open addressing. Many small tables: growing one is quick.
    struct Shard {
        std::vector<Entry> entries;
        std::size_t used = 0;
    };
    static constexpr unsigned shard_bits = 8;

    [[nodiscard]] Shard& shard(std::uint64_t hash) { return shards_[hash >> (64U - shard_bits)]; }
    static void insert(Shard& shard, const Entry& entry);
    static void erase(Shard& shard, const Entry& entry);
    static void grow(Shard& shard);

    std::map<std::uint32_t, std::shared_ptr<Pack>> packs_;
    std::array<Shard, 1U << shard_bits> shards_;
    std::uint64_t lines_ = 0;
    std::uint32_t next_number_ = 1;
};

} // namespace durable::fs
