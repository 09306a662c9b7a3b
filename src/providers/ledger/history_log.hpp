// HistoryLog: the events of one execution as raw JSON, in shorthand, in one block of memory.
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
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; } // of the texts in full
    [[nodiscard]] std::uint64_t last_id() const noexcept; // the largest; 0 when empty

    [[nodiscard]] bool contains(std::uint64_t id) const noexcept;
    [[nodiscard]] std::string find(std::uint64_t id) const; // empty when unknown

    // Makes room for that many more, exactly while small: most histories never grow again.
    void reserve(std::size_t events);
    void append(std::uint64_t id, std::string_view text); // the id is new

    [[nodiscard]] EventTexts after(std::uint64_t id) const;

    // For tests of damage: replaces what is stored.
    void overwrite(std::uint64_t id, std::string_view text);

    // fn(id, text), ascending by id.
    template <class Fn>
    void for_each(Fn&& fn) const {
        std::string text;
        for (const auto index : order()) {
            text.clear();
            expand_to(text, index);
            fn(events_[index].id, std::string_view{text});
        }
    }

 private:
    struct Event {
        std::uint64_t id;
        std::uint64_t end; // in text_
        bool operator==(const Event&) const = default;
    };

    void expand_to(std::string& out, std::size_t index) const;
    [[nodiscard]] std::size_t index_of(std::uint64_t id) const noexcept; // size() when unknown
    [[nodiscard]] std::vector<std::size_t> order() const;

    std::string text_;          // in shorthand
    std::vector<Event> events_; // in order of arrival
    std::uint64_t bytes_ : 63 = 0;
    bool ascending_ : 1 = true;
};

} // namespace durable::ledger
