// Suspended orchestrations in memory, so that a turn costs its new events and not its history.
//
// A frame is out of the cache while a turn runs on it, and comes back only after the commit: what
// is in here never is ahead of the store. It may lag behind: another process may have run turns
// since, and the provider then sends what is missing. Losing a frame is always right, only slower.

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
    // Of the instance, as the provider counts. 0: not known, and then the frame is not kept: it
    // could be taken for that of a later instance with the same id.
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

    // One fetch: what it promised to the provider stays in the cache until the promise is over.
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

    // The frame of this execution, if it is here. Whatever else is kept of the instance is dropped.
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
        Entry* same_hash = nullptr; // the index's
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
