// Suspended orchestrations in memory, so that a turn costs its new events and not its history.
//
// A dispatcher takes a frame out while a turn runs on it, and puts it back only after the commit: a
// cached frame is never ahead of the store. It may lag behind when another process has run turns
// since: the provider then sends the missing events, and P8 (append only) keeps the older ones
// valid. Evicting a frame is always correct, only slower. Any thread may call.

#pragma once

#include "base/link_table.hpp"
#include "base/mutex.hpp"
#include "observability/observer.hpp"
#include "replay/execution.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace durable::runtime {

// Children under way, for the metrics of the parent: event id to (name, scheduled at).
using OpenChildren = std::map<std::uint64_t, std::pair<std::string, std::uint64_t>>;

struct Frame {
    std::unique_ptr<replay::Execution> execution;
    std::uint64_t turns = 0;         // committed so far
    std::uint64_t started_at_ms = 0; // of the execution
    // Of the instance, as the provider counts. 0: unknown; such a frame is not cached, because it
    // could be mistaken for that of a later instance with the same id.
    std::uint64_t incarnation = 0;
    std::unique_ptr<OpenChildren> children; // nullptr: none
};

class FrameCache {
 public:
    struct Bounds {
        std::size_t max_frames = 0;
        std::size_t max_bytes = 0;
        Duration idle_timeout{};
        bool evict_always = false;
    };

    FrameCache(Clock& clock, const observability::Observer& observer, Bounds bounds);
    FrameCache(const FrameCache&) = delete;
    FrameCache& operator=(const FrameCache&) = delete;
    ~FrameCache();

    // Held during a fetch and its turn: the frames that it reports to the provider as cached are
    // not evicted meanwhile.
    class Promise {
     public:
        explicit Promise(FrameCache& cache) : cache_{cache} {}
        Promise(const Promise&) = delete;
        Promise& operator=(const Promise&) = delete;
        ~Promise();

        // For FetchOrchestration::cached.
        [[nodiscard]] std::optional<CachedHistory> lookup(std::string_view instance);

     private:
        FrameCache& cache_;
        std::vector<std::string> promised_;
    };

    // The frame of this execution, if it is cached. A frame of another execution of the instance is
    // dropped.
    [[nodiscard]] std::optional<Frame> take(const std::string& instance,
                                            std::uint64_t execution_id);
    void put(Frame frame);

    void evict_idle();
    void clear(std::string_view reason);
    // When evict_idle has something to do; max: never.
    [[nodiscard]] SteadyInstant next_idle() const;

    struct Size {
        std::size_t frames = 0;
        std::size_t bytes = 0;
    };
    [[nodiscard]] Size size() const;

 private:
    struct Entry;
    using Order = std::list<Entry>; // least recently used first
    struct Entry {
        Frame frame;
        std::size_t bytes = 0;
        SteadyInstant used;
        std::uint32_t promised = 0;
        Entry* same_hash = nullptr; // link of index_
        Order::iterator place = {};
    };
    using Victims = Order;

    // By the instance ids inside the executions.
    static std::size_t hash_of(const Entry& entry) noexcept;
    [[nodiscard]] Entry* find(std::string_view instance) DURABLE_REQUIRES(mutex_);
    void unlink(Order::iterator entry, Victims& victims) DURABLE_REQUIRES(mutex_);
    void shrink(Victims& victims) DURABLE_REQUIRES(mutex_);
    void destroy(Victims& victims, std::string_view reason) const;

    Clock& clock_;
    const observability::Observer& observer_;
    Bounds bounds_;
    mutable Mutex mutex_;
    Order order_ DURABLE_GUARDED_BY(mutex_);
    LinkTable<Entry, &Entry::same_hash, &FrameCache::hash_of> index_ DURABLE_GUARDED_BY(mutex_);
    std::size_t bytes_ DURABLE_GUARDED_BY(mutex_) = 0;
};

} // namespace durable::runtime
