// HistoryLog: the events of one execution as raw JSON, in shorthand, in one block of memory.
//
// P8: append only; an append reads nothing of what is stored. Ids usually ascend; when they do not,
// readers still get the events by ascending id. The block can be walked from both ends, so that
// reading the newest events does not cost more when there are many before them:
//
//     id, length (varints) | the text in shorthand | size of both (a varint, backwards)

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
    HistoryLog() = default;
    HistoryLog(const HistoryLog& other);
    HistoryLog(HistoryLog&& other) noexcept { swap(other); }
    HistoryLog& operator=(HistoryLog other) noexcept {
        swap(other);
        return *this;
    }
    ~HistoryLog();

    bool operator==(const HistoryLog& other) const noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; } // of the texts in full
    [[nodiscard]] std::uint64_t last_id() const noexcept; // the largest; 0 when empty

    // Quick for the first event and for the newest ones.
    [[nodiscard]] bool contains(std::uint64_t id) const noexcept { return lookup(id).has_value(); }
    [[nodiscard]] std::string find(std::uint64_t id) const; // empty when unknown

    void append(std::uint64_t id, std::string_view text); // the id is new

    [[nodiscard]] EventTexts after(std::uint64_t id) const;

    // For tests of damage: replaces the stored text.
    void overwrite(std::uint64_t id, std::string_view text);

    // fn(id, text), ascending by id.
    template <class Fn>
    void for_each(Fn&& fn) const {
        std::string text;
        for (const auto& event : sorted()) {
            text.clear();
            expand_to(text, event);
            fn(event.id, std::string_view{text});
        }
    }

 private:
    struct Event {
        std::uint64_t id = 0;
        std::size_t begin = 0; // of its entry in the block
        std::size_t text = 0;
        std::size_t size = 0; // of the text
        std::size_t end = 0;
    };

    void swap(HistoryLog& other) noexcept;
    [[nodiscard]] Event event_at(std::size_t begin) const noexcept;
    [[nodiscard]] Event event_before(std::size_t end) const noexcept;
    [[nodiscard]] std::optional<Event> lookup(std::uint64_t id) const noexcept;
    [[nodiscard]] std::vector<Event> sorted() const;
    void expand_to(std::string& out, const Event& event) const;

    char* block_ = nullptr; // its size follows from used_
    std::size_t used_ = 0;
    std::size_t count_ = 0;
    std::uint64_t bytes_ : 63 = 0;
    bool ascending_ : 1 = true;
};

} // namespace durable::ledger
