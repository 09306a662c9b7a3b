#include "providers/ledger/history_log.hpp"

#include "providers/ledger/shorthand.hpp"

#include <algorithm>

namespace durable::ledger {

namespace {

constexpr std::size_t exact_below = 4096;
constexpr std::uint64_t most_bytes = ~std::uint64_t{0} >> 1U; // what fits beside one flag

std::size_t roomy(std::size_t needed, std::size_t capacity) {
    return needed <= exact_below ? needed : std::max(needed, capacity + capacity / 2);
}

} // namespace

std::uint64_t HistoryLog::last_id() const noexcept {
    if (events_.empty()) {
        return 0;
    }
    return ascending_ ? events_.back().id : std::ranges::max(events_, {}, &Event::id).id;
}

std::size_t HistoryLog::index_of(std::uint64_t id) const noexcept {
    if (ascending_ && (events_.empty() || id > events_.back().id)) {
        return events_.size();
    }
    const auto found = ascending_ ? std::ranges::lower_bound(events_, id, {}, &Event::id)
                                  : std::ranges::find(events_, id, &Event::id);
    const auto index = static_cast<std::size_t>(found - events_.begin());
    return found != events_.end() && found->id == id ? index : events_.size();
}

bool HistoryLog::contains(std::uint64_t id) const noexcept {
    return index_of(id) < events_.size();
}

void HistoryLog::expand_to(std::string& out, std::size_t index) const {
    const auto begin = index == 0 ? 0 : events_[index - 1].end;
    append_expanded(out, std::string_view{text_}.substr(begin, events_[index].end - begin));
}

std::string HistoryLog::find(std::uint64_t id) const {
    std::string text;
    if (const auto index = index_of(id); index < events_.size()) {
        expand_to(text, index);
    }
    return text;
}

void HistoryLog::reserve(std::size_t events) {
    const auto count = events_.size() + events;
    if (count > events_.capacity()) {
        events_.reserve(count <= exact_below / sizeof(Event)
                            ? count
                            : std::max(count, events_.capacity() + events_.capacity() / 2));
    }
}

void HistoryLog::append(std::uint64_t id, std::string_view text) {
    static thread_local std::string shorthand; // reused: an append allocates what it keeps
    shorthand.clear();
    append_shorthand(shorthand, text);

    ascending_ = ascending_ && (events_.empty() || id > events_.back().id);
    const auto needed = text_.size() + shorthand.size();
    if (needed > text_.capacity()) {
        text_.reserve(roomy(needed, text_.capacity()));
    }
    text_ += shorthand;
    events_.push_back({.id = id, .end = text_.size()});
    bytes_ = (bytes_ + text.size()) & most_bytes;
}

EventTexts HistoryLog::after(std::uint64_t id) const {
    EventTexts copy;
    const auto add = [&](std::size_t index) {
        expand_to(copy.text, index);
        copy.ends.push_back(copy.text.size());
        copy.text += '\n';
    };
    if (ascending_) { // costs what is new, however much there is
        const auto first = std::ranges::upper_bound(events_, id, {}, &Event::id);
        const auto skipped = static_cast<std::size_t>(first - events_.begin());
        copy.ends.reserve(events_.size() - skipped);
        if (skipped == 0) {
            copy.text.reserve(bytes_ + events_.size());
        }
        for (auto index = skipped; index < events_.size(); ++index) {
            add(index);
        }
        return copy;
    }
    for (const auto index : order()) {
        if (events_[index].id > id) {
            add(index);
        }
    }
    return copy;
}

void HistoryLog::overwrite(std::uint64_t id, std::string_view text) {
    HistoryLog changed;
    std::string kept;
    for (std::size_t index = 0; index < events_.size(); ++index) {
        kept.clear();
        expand_to(kept, index);
        changed.append(events_[index].id, events_[index].id == id ? text : kept);
    }
    *this = std::move(changed);
}

std::vector<std::size_t> HistoryLog::order() const {
    std::vector<std::size_t> indexes;
    indexes.reserve(events_.size());
    for (std::size_t index = 0; index < events_.size(); ++index) {
        indexes.push_back(index);
    }
    if (!ascending_) {
        std::ranges::sort(indexes, {}, [this](std::size_t index) { return events_[index].id; });
    }
    return indexes;
}

} // namespace durable::ledger
