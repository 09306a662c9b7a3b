#include "runtime/frame_cache.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <iterator>

namespace durable::runtime {

using observability::Metric;

namespace {

// The size of an entry without its execution: list node and bucket.
constexpr std::size_t entry_overhead = 192;

} // namespace

FrameCache::FrameCache(Clock& clock, const observability::Observer& observer, Bounds bounds)
    : clock_{clock}, observer_{observer}, bounds_{bounds} {}

FrameCache::~FrameCache() = default;

std::size_t FrameCache::hash_of(const Entry& entry) noexcept {
    return std::hash<std::string_view>{}(entry.frame.execution->instance());
}

FrameCache::Entry* FrameCache::find(std::string_view instance) {
    return index_.find(std::hash<std::string_view>{}(instance), [&](const Entry& entry) {
        return entry.frame.execution->instance() == instance;
    });
}

FrameCache::Promise::~Promise() {
    if (promised_.empty()) {
        return;
    }
    const MutexLock lock{cache_.mutex_};
    for (const auto& instance : promised_) {
        if (auto* found = cache_.find(instance); found != nullptr && found->promised > 0) {
            --found->promised;
        }
    }
}

std::optional<CachedHistory> FrameCache::Promise::lookup(std::string_view instance) {
    const MutexLock lock{cache_.mutex_};
    auto* found = cache_.find(instance);
    if (found == nullptr) {
        return std::nullopt;
    }
    ++found->promised;
    promised_.emplace_back(instance);
    const auto& execution = *found->frame.execution;
    return CachedHistory{.execution_id = execution.execution_id(),
                         .last_event_id = execution.last_event_id(),
                         .incarnation = found->frame.incarnation};
}

std::optional<Frame> FrameCache::take(const std::string& instance, std::uint64_t execution_id) {
    Victims taken;
    {
        const MutexLock lock{mutex_};
        const auto* found = find(instance);
        if (found == nullptr) {
            return std::nullopt;
        }
        unlink(found->place, taken);
    }
    auto& frame = taken.front().frame;
    if (frame.execution->execution_id() != execution_id) {
        destroy(taken, "superseded");
        return std::nullopt;
    }
    return std::move(frame);
}

void FrameCache::put(Frame frame) {
    const auto now = clock_.steady();
    const auto bytes = frame.execution->memory_bytes() + entry_overhead;
    Victims victims;
    victims.push_back({.frame = std::move(frame), .bytes = bytes, .used = now});
    if (bounds_.evict_always || victims.front().frame.incarnation == 0 || bounds_.max_frames == 0 ||
        bytes > bounds_.max_bytes) {
        destroy(victims, bounds_.evict_always ? "always" : "size");
        return;
    }
    Victims superseded;
    {
        const MutexLock lock{mutex_};
        const std::string_view key = victims.front().frame.execution->instance();
        if (const auto* found = find(key); found != nullptr) {
            unlink(found->place, superseded);
        }
        order_.splice(order_.end(), victims);
        order_.back().place = std::prev(order_.end());
        index_.insert(order_.back());
        bytes_ += bytes;
        DURABLE_CHECK(index_.size() == order_.size(), "each frame is in the list and in the index");
        shrink(victims);
    }
    destroy(superseded, "superseded");
    destroy(victims, "size");
}

void FrameCache::unlink(Order::iterator entry, Victims& victims) {
    index_.erase(*entry);
    DURABLE_CHECK(bytes_ >= entry->bytes, "the cache counts its bytes");
    bytes_ -= entry->bytes;
    victims.splice(victims.end(), order_, entry);
    DURABLE_CHECK(index_.size() == order_.size(), "each frame is in the list and in the index");
}

void FrameCache::shrink(Victims& victims) {
    auto next = order_.begin();
    while (next != order_.end() &&
           (order_.size() > bounds_.max_frames || bytes_ > bounds_.max_bytes)) {
        const auto entry = next++;
        if (entry->promised == 0) {
            unlink(entry, victims);
        }
    }
}

void FrameCache::evict_idle() {
    const auto now = clock_.steady();
    Victims victims;
    {
        const MutexLock lock{mutex_};
        auto next = order_.begin();
        while (next != order_.end() && add_saturating(next->used, bounds_.idle_timeout) <= now) {
            const auto entry = next++;
            if (entry->promised == 0) {
                unlink(entry, victims);
            }
        }
    }
    destroy(victims, "idle");
}

SteadyInstant FrameCache::next_idle() const {
    const MutexLock lock{mutex_};
    return order_.empty() ? SteadyInstant::max()
                          : add_saturating(order_.front().used, bounds_.idle_timeout);
}

void FrameCache::clear(std::string_view reason) {
    Victims victims;
    {
        const MutexLock lock{mutex_};
        index_.dispose([](const Entry&) {});
        bytes_ = 0;
        victims.swap(order_);
    }
    destroy(victims, reason);
}

FrameCache::Size FrameCache::size() const {
    const MutexLock lock{mutex_};
    return {.frames = order_.size(), .bytes = bytes_};
}

// Runs destructors of user code: the caller does not hold the lock.
void FrameCache::destroy(Victims& victims, std::string_view reason) const {
    if (!victims.empty()) {
        observer_.record(
            Metric::frame_cache_evictions, static_cast<double>(victims.size()), {reason});
        victims.clear();
    }
}

} // namespace durable::runtime
