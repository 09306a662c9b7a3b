#include "providers/ledger/history_log.hpp"

#include <algorithm>
#include <numeric>

namespace durable::ledger {

namespace {

constexpr std::size_t exact_below = 4096;

std::size_t roomy(std::size_t needed, std::size_t capacity) {
    return needed <= exact_below ? needed : std::max(needed, capacity + capacity / 2);
}

} // namespace

std::size_t HistoryLog::index_of(std::uint64_t id) const noexcept {
    if (id > last_id_) {
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

std::string_view HistoryLog::find(std::uint64_t id) const noexcept {
    const auto index = index_of(id);
    return index < events_.size() ? text_of(index) : std::string_view{};
}

void HistoryLog::reserve(std::size_t events, std::size_t bytes) {
    const auto text_size = text_.size() + bytes + events;
    if (text_size > text_.capacity()) {
        text_.reserve(roomy(text_size, text_.capacity()));
    }
    const auto count = events_.size() + events;
    if (count > events_.capacity()) {
        events_.reserve(count <= exact_below / sizeof(Event)
                            ? count
                            : std::max(count, events_.capacity() + events_.capacity() / 2));
    }
}

void HistoryLog::append(std::uint64_t id, std::string_view text) {
    ascending_ = ascending_ && id > last_id_;
    last_id_ = std::max(last_id_, id);
    text_ += text;
    events_.push_back({.id = id, .end = text_.size()});
    text_ += '\n';
}

EventTexts HistoryLog::after(std::uint64_t id) const {
    EventTexts copy;
    if (ascending_) {
        const auto first = std::ranges::upper_bound(events_, id, {}, &Event::id);
        const auto skipped = first == events_.begin() ? 0 : std::prev(first)->end + 1;
        copy.text = text_.substr(skipped);
        copy.ends.reserve(static_cast<std::size_t>(events_.end() - first));
        for (auto event = first; event != events_.end(); ++event) {
            copy.ends.push_back(event->end - skipped);
        }
        return copy;
    }
    for_each([&](std::uint64_t event_id, std::string_view text) {
        if (event_id > id) {
            copy.text += text;
            copy.ends.push_back(copy.text.size());
            copy.text += '\n';
        }
    });
    return copy;
}

void HistoryLog::overwrite(std::uint64_t id, std::string_view text) {
    HistoryLog changed;
    for (std::size_t index = 0; index < events_.size(); ++index) {
        changed.append(events_[index].id, events_[index].id == id ? text : text_of(index));
    }
    *this = std::move(changed);
}

std::vector<std::size_t> HistoryLog::order() const {
    std::vector<std::size_t> indexes(events_.size());
    std::iota(indexes.begin(), indexes.end(), std::size_t{0});
    if (!ascending_) {
        std::ranges::sort(indexes, {}, [this](std::size_t index) { return events_[index].id; });
    }
    return indexes;
}

} // namespace durable::ledger
