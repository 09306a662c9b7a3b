// LinkTable: an intrusive hash table; each item carries the link to the next one of its bucket.
//
// It grows and shrinks by one bucket at a time (linear hashing), so that no call rehashes a million
// items. It owns nothing. Its owner guards it: it has no lock.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace durable {

// Spreads consecutive numbers over all bits.
[[nodiscard]] constexpr std::size_t mixed_hash(std::uint64_t value) noexcept {
    value *= 0x9e3779b97f4a7c15U;
    return value ^ (value >> 32U);
}

// The hash of one operation of one execution.
template <class Instance>
[[nodiscard]] std::size_t mixed_hash(const Instance* instance,
                                     std::uint64_t execution_id,
                                     std::uint64_t operation_id) noexcept {
    auto mixed = mixed_hash(reinterpret_cast<std::uintptr_t>(instance) ^ execution_id);
    return mixed_hash(mixed ^ operation_id);
}

// `Link` is the member of T that the table uses. `Hash` returns the hash of a T, which never
// changes while T is in the table.
template <class T, T* T::* Link, std::size_t (*Hash)(const T&) noexcept>
class LinkTable {
 public:
    LinkTable() = default;
    LinkTable(const LinkTable&) = delete;
    LinkTable& operator=(const LinkTable&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t buckets() const noexcept { return buckets_; }

    // An item with that hash for which is(item) holds; nullptr: there is none.
    template <class Is>
    [[nodiscard]] T* find(std::size_t hash, Is&& is) const {
        for (auto* item = first(hash); item != nullptr; item = item->*Link) {
            if (is(std::as_const(*item))) {
                return item;
            }
        }
        return nullptr;
    }

    // fn(item) for every item in the bucket of that hash; some of them have another hash.
    template <class Fn>
    void for_each_near(std::size_t hash, Fn&& fn) const {
        for (const auto* item = first(hash); item != nullptr; item = item->*Link) {
            fn(*item);
        }
    }

    void insert(T& item) {
        if (size_ == buckets_) {
            grow();
        }
        ++size_;
        push(bucket(place_of(Hash(item))), item);
    }

    void erase(T& item) {
        auto* link = &bucket(place_of(Hash(item)));
        while (*link != &item) {
            link = &((*link)->*Link);
        }
        *link = std::exchange(item.*Link, nullptr);
        --size_;
        for (int step = 0; step < 2 && buckets_ > size_ * 2 && buckets_ > 1; ++step) {
            shrink();
        }
    }

    // Removes all items and calls fn(item) for each; fn may destroy it.
    template <class Fn>
    void dispose(Fn&& fn) {
        for (std::size_t place = 0; place < buckets_; ++place) {
            for (auto* item = std::exchange(bucket(place), nullptr); item != nullptr;) {
                fn(*std::exchange(item, item->*Link));
            }
        }
        chunks_.clear();
        buckets_ = 0;
        size_ = 0;
    }

 private:
    static constexpr std::size_t chunk = 512;

    [[nodiscard]] T*& bucket(std::size_t place) const {
        return chunks_[place / chunk][place % chunk];
    }

    [[nodiscard]] T* first(std::size_t hash) const {
        return buckets_ == 0 ? nullptr : bucket(place_of(hash));
    }

    // As if the number of buckets were a power of two: the items of a missing bucket are still in
    // the bucket that it will be split from.
    [[nodiscard]] std::size_t place_of(std::size_t hash) const noexcept {
        const auto all = std::bit_ceil(buckets_);
        const auto place = hash & (all - 1);
        return place < buckets_ ? place : place - all / 2;
    }

    static void push(T*& bucket, T& item) {
        item.*Link = bucket;
        bucket = &item;
    }

    void grow() {
        if (buckets_ % chunk == 0) {
            chunks_.push_back(std::make_unique<T*[]>(chunk));
        }
        const auto added = buckets_++;
        if (added == 0) {
            return;
        }
        auto& split = bucket(added - std::bit_floor(added));
        for (auto* item = std::exchange(split, nullptr); item != nullptr;) {
            auto& moved = *std::exchange(item, item->*Link);
            push(bucket(place_of(Hash(moved))), moved);
        }
    }

    void shrink() {
        const auto last = buckets_ - 1;
        auto& joined = bucket(last - std::bit_floor(last));
        for (auto* item = bucket(last); item != nullptr;) {
            push(joined, *std::exchange(item, item->*Link));
        }
        bucket(last) = nullptr;
        buckets_ = last;
        if (last % chunk == 0) {
            chunks_.pop_back();
        }
    }

    std::vector<std::unique_ptr<T*[]>> chunks_;
    std::size_t buckets_ = 0;
    std::size_t size_ = 0;
};

} // namespace durable
