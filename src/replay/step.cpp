#include <durable/detail/option_text.hpp>
#include <durable/detail/step.hpp>
#include <durable/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace durable::detail {

namespace {

// A thread runs one turn at a time: every coroutine that runs on it belongs to that turn.
thread_local RunQueue* current_queue = nullptr;
thread_local const Source* running = nullptr; // the coroutine that runs right now

// Frames that are being destroyed inside each other, and those whose destruction must wait.
struct Demolition {
    std::uint32_t depth = 0;
    Source* later = nullptr; // a list, by Waiter::source
};
thread_local Demolition demolition;

// More than tasks that await each other can reach: those are destroyed as scopes end, and may
// refer to each other's variables.
constexpr std::uint32_t deepest_demolition = 2 * max_task_depth;

} // namespace

std::string_view keep_text(std::string_view text) {
    if (current_queue != nullptr) {
        return current_queue->engine().keep(text);
    }
    // Texts of options that were made outside of orchestrations: few, and kept for ever, because
    // the lifetime of those options is unknown.
    static std::mutex mutex;
    static auto& kept = *new std::set<std::string, std::less<>>; // NOLINT: also after main()
    const std::scoped_lock lock{mutex};
    return *kept.emplace(text).first;
}

RunQueue::RunQueue(Engine& engine) noexcept
    : engine_{engine}, outer_{std::exchange(current_queue, this)} {}

RunQueue::~RunQueue() {
    for (auto* const left : ready_) {
        if (left != nullptr) {
            left->queued_ = false; // it may outlive this queue, outside of any frame
        }
    }
    current_queue = outer_;
}

RunQueue* RunQueue::current() noexcept {
    return current_queue;
}

void RunQueue::push(PromiseBase& coroutine) {
    coroutine.place_ = static_cast<std::uint32_t>(ready_.size());
    coroutine.queued_ = true;
    ready_.push_back(&coroutine);
}

void RunQueue::remove(PromiseBase& coroutine) noexcept {
    ready_[coroutine.place_] = nullptr;
    coroutine.queued_ = false;
}

void RunQueue::drain() {
    while (!ready_.empty() && !stopped_) {
        auto* const next = ready_.back();
        ready_.pop_back();
        if (next != nullptr) {
            next->queued_ = false;
            next->running_ = true;
            depth_ = next->depth_;
            const auto* const outer = std::exchange(running, next);
            next->frame_.resume();
            running = outer;
            depth_ = 0;
            next->running_ = false; // it is still there: see destroy_frame()
            if (next->doomed_) {
                next->destroy_frame();
            }
        }
    }
}

void destroy_nested(PromiseBase& coroutine) noexcept {
    if (demolition.depth == deepest_demolition) {
        // It waits for no source any more, so that pointer can link the list.
        coroutine.Waiter::source = std::exchange(demolition.later, &coroutine);
        return;
    }
    ++demolition.depth;
    coroutine.frame_.destroy();
    if (--demolition.depth > 0) {
        return;
    }
    while (auto* const next = static_cast<PromiseBase*>(demolition.later)) {
        demolition.later = std::exchange(next->Waiter::source, nullptr);
        ++demolition.depth;
        next->frame_.destroy();
        --demolition.depth;
    }
}

void make_ready(Source& source, bool failed, std::uint64_t order) noexcept {
    source.order = order != 0 ? order : ++RunQueue::current()->engine().last_order;
    source.failed = failed;
    if (auto* const waiter = source.waiter) {
        waiter->on_ready(*waiter, source);
    }
}

SourceRef::SourceRef(Source* source) noexcept {
    link(source);
}

SourceRef::SourceRef(SourceRef&& other) noexcept {
    auto* const source = other.source_;
    other.unlink();
    link(source);
}

void SourceRef::link(Source* source) noexcept {
    source_ = source;
    if (source == nullptr) {
        return;
    }
    next_ = source->refs;
    place_ = &source->refs;
    if (next_ != nullptr) {
        next_->place_ = &next_;
    }
    source->refs = this;
}

void SourceRef::unlink() noexcept {
    if (std::exchange(source_, nullptr) == nullptr) {
        return;
    }
    *place_ = next_;
    if (next_ != nullptr) {
        next_->place_ = place_;
    }
}

void Source::lose_refs() noexcept {
    while (refs != nullptr) {
        refs->unlink();
    }
}

void Source::lose_waiter() noexcept {
    set_waiter(nullptr);
    if (current_queue != nullptr) {
        current_queue->engine().wait_lost(is_step ? static_cast<const Slot*>(this) : nullptr);
    }
}

void end_wait(Waiter& waiter) {
    if (waiter.source == nullptr) {
        throw_moved_from();
    }
    waiter.source->set_waiter(nullptr);
}

Engine& checked_engine(Engine* engine) {
    if (current_queue == nullptr || &current_queue->engine() != engine) {
        throw std::logic_error{
            "a durable::Context is used outside of its orchestration: on another "
            "thread, or after the end"};
    }
    return *engine;
}

// Out of line: g++ 12 takes an inlined pair of these for a mismatched new and delete.
void* allocate_frame(std::size_t bytes) {
    auto* const frame = ::operator new(bytes);
    if (current_queue != nullptr) {
        current_queue->engine().frame_bytes += static_cast<std::ptrdiff_t>(bytes);
    }
    return frame;
}

void free_frame(void* frame, std::size_t bytes) noexcept {
    if (current_queue != nullptr) {
        current_queue->engine().frame_bytes -= static_cast<std::ptrdiff_t>(bytes);
    }
    ::operator delete(frame);
}

Outcome<std::string> take_result(Slot* slot) {
    if (slot == nullptr) {
        throw_moved_from();
    }
    if (!slot->ready()) {
        throw_not_finished();
    }
    if (std::exchange(slot->taken, true)) {
        throw_already_awaited();
    }
    if (slot->failed) {
        return std::unexpected{std::move(*slot->failure)};
    }
    return std::move(slot->text);
}

void throw_already_awaited() {
    throw std::logic_error{"this operation is awaited a second time: each has one result, for one "
                           "waiter"};
}

void throw_not_finished() {
    throw std::logic_error{"this operation or task is not finished: co_await it"};
}

void throw_moved_from() {
    throw std::logic_error{"this operation or task is empty: it was moved away or cancelled"};
}

void throw_outside_of_turn() {
    throw std::logic_error{"a durable::Task runs only inside an orchestration"};
}

void throw_moved_while_awaited() {
    throw std::logic_error{"this all, all_settled, race or within is awaited: it cannot be moved "
                           "before that ends"};
}

void throw_nested_too_deep() {
    throw std::length_error{"tasks are nested deeper than " + std::to_string(max_task_depth) +
                            ": does a task await itself without end?"};
}

Source& checked_source(Source* source) {
    if (source == nullptr) {
        throw_moved_from();
    }
    if (source == running) {
        throw std::logic_error{"this task awaits itself: it would wait for ever"};
    }
    if (source->waiter != nullptr || source->taken) {
        throw_already_awaited();
    }
    return *source;
}

bool is_ready(const Source* source) {
    if (source == nullptr) {
        throw_moved_from();
    }
    if (source->taken) {
        throw std::logic_error{"ready() is asked of an operation or task that was awaited before: "
                               "its result is taken"};
    }
    return source->ready();
}

} // namespace durable::detail
