// HistoryLog: the events of one execution as raw JSON, one per line in one block of memory.
//
// Append only: nothing reads or judges what is already there. Ids usually ascend; when they do not,
// readers still get the events by ascending id.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace durable::ledger {

// A copy of some events that can be decoded without holding any lock.
struct EventTexts {
    std::string text;                // the events, ascending by id, each followed by '\n'
    std::vector<std::uint64_t> ends; // of each event in `text`, before its '\n'

    [[nodiscard]] std::size_t size() const noexcept { return ends.size(); }
    [[nodiscard]] std::string_view operator[](std::size_t index) const noexcept {
        const auto begin = index == 0 ? 0 : ends[index - 1] + 1;
        return std::string_view{text}.substr(begin, ends[index] - begin);
    }
};

class HistoryLog {
 public:
    bool operator==(const HistoryLog&) const = default;

    [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }
    [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
    // Of the texts alone, without the line ends.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return text_.size() - events_.size(); }
    [[nodiscard]] std::uint64_t last_id() const noexcept { return last_id_; } // the largest

    [[nodiscard]] bool contains(std::uint64_t id) const noexcept;
    [[nodiscard]] std::string_view find(std::uint64_t id) const noexcept; // empty when unknown

    // Makes room for that much more, exactly while small: most histories never grow again.
    void reserve(std::size_t events, std::size_t bytes);
    void append(std::uint64_t id, std::string_view text); // the id is new

    [[nodiscard]] EventTexts after(std::uint64_t id) const;

    // For tests of damage: replaces what is stored.
    void overwrite(std::uint64_t id, std::string_view text);

    // fn(id, text), ascending by id.
    template <class Fn>
    void for_each(Fn&& fn) const {
        for (const auto index : order()) {
            fn(events_[index].id, text_of(index));
        }
    }

 private:
    struct Event {
        std::uint64_t id;
        std::uint64_t end; // in text_, before the line end
        bool operator==(const Event&) const = default;
    };

    [[nodiscard]] std::string_view text_of(std::size_t index) const noexcept {
        const auto begin = index == 0 ? 0 : events_[index - 1].end + 1;
        return std::string_view{text_}.substr(begin, events_[index].end - begin);
    }
    [[nodiscard]] std::size_t index_of(std::uint64_t id) const noexcept; // size() when unknown
    [[nodiscard]] std::vector<std::size_t> order() const;

    std::string text_;
    std::vector<Event> events_; // in order of arrival
    std::uint64_t last_id_ = 0;
    bool ascending_ = true;
};

} // namespace durable::ledger
