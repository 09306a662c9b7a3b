// StepTable: the steps of an execution that history has not answered yet, by event id.
//
// Ids grow, so a sorted vector with binary search is enough: adding is push_back, closing leaves a
// hole, and holes are squeezed out when they are the majority. 100,000 open steps are fine.

#pragma once

#include <durable/detail/step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace durable::replay {

struct StepEntry {
    std::uint64_t id = 0;
    detail::Slot* slot = nullptr; // nullptr: cancelled; its answer may still come
    detail::StepKind kind = detail::StepKind::never; // never: a hole
};

class StepTable {
 public:
    // False when the id is taken: only a damaged history can do that.
    bool add(std::uint64_t id, detail::StepKind kind, detail::Slot* slot) {
        const StepEntry entry{.id = id, .slot = slot, .kind = kind};
        if (entries_.empty() || entries_.back().id < id) {
            entries_.push_back(entry);
            return true;
        }
        const auto place = lower_bound(id);
        if (place->id == id) {
            return false;
        }
        entries_.insert(place, entry);
        return true;
    }

    [[nodiscard]] StepEntry* find(std::uint64_t id) noexcept {
        const auto place = lower_bound(id);
        const bool found =
            place != entries_.end() && place->id == id && place->kind != detail::StepKind::never;
        return found ? &*place : nullptr;
    }

    // Invalidates pointers to entries.
    void close(StepEntry& entry) {
        entry = {.id = entry.id};
        if (++holes_ == entries_.size()) {
            entries_ = {}; // also gives the memory of a large fan-out back
            holes_ = 0;
        } else if (holes_ > 16 && holes_ * 2 > entries_.size()) {
            std::erase_if(entries_,
                          [](const StepEntry& e) { return e.kind == detail::StepKind::never; });
            holes_ = 0;
        }
    }

    // Open and cancelled steps, ascending.
    template <class F>
    void each(F&& f) {
        for (auto& entry : entries_) {
            if (entry.kind != detail::StepKind::never) {
                f(entry);
            }
        }
    }

    [[nodiscard]] std::size_t memory_bytes() const noexcept {
        return entries_.capacity() * sizeof(StepEntry);
    }

 private:
    [[nodiscard]] std::vector<StepEntry>::iterator lower_bound(std::uint64_t id) noexcept {
        return std::ranges::lower_bound(entries_, id, {}, &StepEntry::id);
    }

    std::vector<StepEntry> entries_;
    std::size_t holes_ = 0;
};

} // namespace durable::replay
