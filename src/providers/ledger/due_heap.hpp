// DueHeap: a min-heap of pointers to items that store their own index in it, so that erasing one
// needs no search. Four children per node and the key beside the pointer: one cache line a level.

#pragma once

#include "base/check.hpp"
#include "providers/ledger/long_list.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace durable::ledger {

inline constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

// `Slot` is the member of T that holds its index; no_slot when T is not in the heap. A T may use
// one member for several heaps when it is in at most one of them at a time.
template <class T, std::uint32_t T::* Slot>
class DueHeap {
 public:
    using Key = std::int64_t;

    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] T& top() const noexcept { return *nodes_.front().item; }
    [[nodiscard]] Key top_key() const noexcept { return nodes_.front().key; }

    void push(T& item, Key key) {
        DURABLE_CHECK(item.*Slot == no_slot, "an item is in one heap at a time");
        nodes_.push_back({key, &item});
        rise(nodes_.size() - 1);
    }

    void erase(T& item) {
        const std::size_t hole = place_of(item);
        item.*Slot = no_slot;
        const auto last = nodes_.back();
        nodes_.pop_back();
        if (hole < nodes_.size()) {
            nodes_[hole] = last;
            restore_order(hole);
        }
    }

    // fn(item) -> bool, for items with a key of at most `limit` in no order, until it returns
    // false.
    template <class Fn>
    void visit_due(Key limit, Fn&& fn) const {
        std::vector<std::size_t> pending;
        if (!empty()) {
            pending.push_back(0);
        }
        while (!pending.empty()) {
            const auto place = pending.back();
            pending.pop_back();
            if (nodes_[place].key > limit) {
                continue; // so are the keys of all children
            }
            if (!fn(*nodes_[place].item)) {
                return;
            }
            const auto first = place * arity + 1;
            for (auto child = first; child < std::min(first + arity, nodes_.size()); ++child) {
                pending.push_back(child);
            }
        }
    }

    void change_key(T& item, Key key) {
        const std::size_t place = place_of(item);
        nodes_[place].key = key;
        restore_order(place);
    }

 private:
    struct Node {
        Key key;
        T* item;
    };

    static constexpr std::size_t arity = 4;

    [[nodiscard]] std::size_t place_of(const T& item) const {
        const std::size_t place = item.*Slot;
        DURABLE_CHECK(place < nodes_.size() && nodes_[place].item == &item,
                      "an item stores its index in its heap");
        return place;
    }

    void restore_order(std::size_t place) {
        if (place > 0 && nodes_[place].key < nodes_[(place - 1) / arity].key) {
            rise(place);
        } else {
            sink(place);
        }
    }

    void rise(std::size_t place) {
        const auto node = nodes_[place];
        while (place > 0) {
            const auto parent = (place - 1) / arity;
            if (nodes_[parent].key <= node.key) {
                break;
            }
            put(place, nodes_[parent]);
            place = parent;
        }
        put(place, node);
    }

    void sink(std::size_t place) {
        const auto node = nodes_[place];
        for (;;) {
            const auto first = place * arity + 1;
            if (first >= nodes_.size()) {
                break;
            }
            auto least = first;
            const auto end = std::min(first + arity, nodes_.size());
            for (auto child = first + 1; child < end; ++child) {
                if (nodes_[child].key < nodes_[least].key) {
                    least = child;
                }
            }
            if (node.key <= nodes_[least].key) {
                break;
            }
            put(place, nodes_[least]);
            place = least;
        }
        put(place, node);
    }

    void put(std::size_t place, const Node& node) {
        nodes_[place] = node;
        node.item->*Slot = static_cast<std::uint32_t>(place);
    }

    LongList<Node> nodes_;
};

} // namespace durable::ledger
