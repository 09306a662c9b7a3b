#include "providers/ledger/history_log.hpp"

#include "base/blocks.hpp"
#include "providers/ledger/shorthand.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace durable::ledger {

namespace {

constexpr std::uint64_t most_bytes = ~std::uint64_t{0} >> 1U; // 63 bits, beside one flag
constexpr unsigned varint_bits = 7;
constexpr unsigned varint_more = 0x80;

// Most histories are small and never grow again: they get what the allocator would round up to.
// Large ones grow by half, so that an append costs the same on average at any size.
std::size_t capacity_for(std::size_t used) {
    constexpr std::size_t exact_below = 4096;
    constexpr std::size_t grain = 16;
    constexpr std::size_t header = 8;
    if (used <= largest_block) {
        return (used + block_grain - 1) / block_grain * block_grain;
    }
    const auto step = used <= exact_below ? grain : std::bit_floor(used - 1) / 2;
    const auto shift = used <= exact_below ? header : 0;
    return (used + shift + step - 1) / step * step - shift;
}

std::size_t varint_size(std::uint64_t value) {
    std::size_t size = 1;
    while (value >= varint_more) {
        value >>= varint_bits;
        ++size;
    }
    return size;
}

void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= varint_more; value >>= varint_bits) {
        out += static_cast<char>(value | varint_more);
    }
    out += static_cast<char>(value);
}

// Reads from `at` in the direction of `step` and moves it past the number.
std::uint64_t read_varint(const char* block, std::size_t& at, int step) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += varint_bits) {
        const auto byte = static_cast<unsigned char>(block[at]);
        at += static_cast<std::size_t>(step);
        value |= static_cast<std::uint64_t>(byte & (varint_more - 1U)) << shift;
        if (byte < varint_more) {
            return value;
        }
    }
}

} // namespace

HistoryLog::HistoryLog(const HistoryLog& other)
    : used_{other.used_}, count_{other.count_}, bytes_{other.bytes_}, ascending_{other.ascending_} {
    if (used_ > 0) {
        block_ = static_cast<char*>(take_block(capacity_for(used_)));
        std::memcpy(block_, other.block_, used_);
    }
}

HistoryLog::~HistoryLog() {
    give_block_back(block_, capacity_for(used_));
}

void HistoryLog::swap(HistoryLog& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(used_, other.used_);
    std::swap(count_, other.count_);
    const auto bytes = bytes_;
    const auto ascending = ascending_;
    bytes_ = other.bytes_;
    ascending_ = other.ascending_;
    other.bytes_ = bytes & most_bytes;
    other.ascending_ = ascending;
}

bool HistoryLog::operator==(const HistoryLog& other) const noexcept {
    return used_ == other.used_ && count_ == other.count_ &&
           (used_ == 0 || std::memcmp(block_, other.block_, used_) == 0);
}

HistoryLog::Event HistoryLog::event_at(std::size_t begin) const noexcept {
    Event event{.begin = begin, .text = begin};
    event.id = read_varint(block_, event.text, 1);
    event.size = read_varint(block_, event.text, 1);
    event.end = event.text + event.size;
    event.end += varint_size(event.end - begin);
    return event;
}

HistoryLog::Event HistoryLog::event_before(std::size_t end) const noexcept {
    auto at = end - 1;
    const auto size = read_varint(block_, at, -1);
    return event_at(at + 1 - size);
}

std::uint64_t HistoryLog::last_id() const noexcept {
    if (empty()) {
        return 0;
    }
    if (ascending_) {
        return event_before(used_).id;
    }
    std::uint64_t largest = 0;
    for (std::size_t at = 0; at < used_;) {
        const auto event = event_at(at);
        largest = std::max(largest, event.id);
        at = event.end;
    }
    return largest;
}

std::optional<HistoryLog::Event> HistoryLog::lookup(std::uint64_t id) const noexcept {
    if (empty()) {
        return std::nullopt;
    }
    if (const auto first = event_at(0); first.id == id) {
        return first;
    }
    for (auto end = used_; end > 0;) {
        const auto event = event_before(end);
        if (event.id == id) {
            return event;
        }
        if (ascending_ && event.id < id) {
            break;
        }
        end = event.begin;
    }
    return std::nullopt;
}

void HistoryLog::expand_to(std::string& out, const Event& event) const {
    append_expanded(out, std::string_view{block_ + event.text, event.size});
}

std::string HistoryLog::find(std::uint64_t id) const {
    std::string text;
    if (const auto event = lookup(id)) {
        expand_to(text, *event);
    }
    return text;
}

void HistoryLog::append(std::uint64_t id, std::string_view text) {
    static thread_local std::string shorthand; // reused: an append allocates what it keeps
    static thread_local std::string entry;
    shorthand.clear();
    append_shorthand(shorthand, text);
    entry.clear();
    append_varint(entry, id);
    append_varint(entry, shorthand.size());
    entry += shorthand;
    const auto size = entry.size();
    append_varint(entry, size);
    std::reverse(entry.begin() + static_cast<std::ptrdiff_t>(size), entry.end());

    ascending_ = ascending_ && (empty() || id > last_id());
    const auto needed = used_ + entry.size();
    if (capacity_for(needed) != capacity_for(used_)) {
        auto* larger = static_cast<char*>(take_block(capacity_for(needed)));
        if (used_ > 0) {
            std::memcpy(larger, block_, used_);
        }
        give_block_back(std::exchange(block_, larger), capacity_for(used_));
    }
    std::memcpy(block_ + used_, entry.data(), entry.size());
    used_ = needed;
    ++count_;
    bytes_ = (bytes_ + text.size()) & most_bytes;
}

EventTexts HistoryLog::after(std::uint64_t id) const {
    EventTexts copy;
    const auto add = [&](const Event& event) {
        expand_to(copy.text, event);
        copy.ends.push_back(copy.text.size());
        copy.text += '\n';
    };
    if (!ascending_) {
        for (const auto& event : sorted()) {
            if (event.id > id) {
                add(event);
            }
        }
        return copy;
    }
    std::size_t from = 0;
    std::size_t wanted = count_;
    if (id > 0) { // from the end: the cost depends on the events after `id`
        from = used_;
        wanted = 0;
        while (from > 0) {
            const auto event = event_before(from);
            if (event.id <= id) {
                break;
            }
            from = event.begin;
            ++wanted;
        }
    } else {
        copy.text.reserve(bytes_ + count_);
    }
    copy.ends.reserve(wanted);
    while (from < used_) {
        const auto event = event_at(from);
        add(event);
        from = event.end;
    }
    return copy;
}

void HistoryLog::overwrite(std::uint64_t id, std::string_view text) {
    HistoryLog changed;
    std::string kept;
    for (std::size_t at = 0; at < used_;) {
        const auto event = event_at(at);
        kept.clear();
        expand_to(kept, event);
        changed.append(event.id, event.id == id ? text : kept);
        at = event.end;
    }
    swap(changed);
}

std::vector<HistoryLog::Event> HistoryLog::sorted() const {
    std::vector<Event> events;
    events.reserve(count_);
    for (std::size_t at = 0; at < used_;) {
        events.push_back(event_at(at));
        at = events.back().end;
    }
    if (!ascending_) {
        std::ranges::sort(events, {}, &Event::id);
    }
    return events;
}

} // namespace durable::ledger
