// What Task, Operation and Context need from the engine that runs them. Not for users: nothing here
// is meant to be called by an orchestration.
//
// A *source* becomes ready once: a step when its answer is delivered, a task when its body ends, a
// combinator when its operands allow. Its *waiter* is notified then. One source, one waiter.

#pragma once

#include <durable/log.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace durable {

// What becomes of a child orchestration that its parent no longer waits for.
enum class ChildPolicy : std::uint8_t { cancel, abandon };

struct CallOptions;

} // namespace durable

namespace durable::detail {

class Engine;
class PromiseBase;
struct Source;

// Refers to a source without owning it; becomes empty when the source is destroyed.
class SourceRef {
 public:
    explicit SourceRef(Source* source) noexcept;
    SourceRef(SourceRef&& other) noexcept;
    SourceRef& operator=(SourceRef&&) = delete;
    SourceRef(const SourceRef&) = delete;
    SourceRef& operator=(const SourceRef&) = delete;
    ~SourceRef() { unlink(); }

    [[nodiscard]] Source* get() const noexcept { return source_; } // nullptr: gone, or never there

 private:
    friend struct Source;

    void link(Source* source) noexcept;
    void unlink() noexcept;

    Source* source_ = nullptr;
    SourceRef* next_ = nullptr;
    SourceRef** place_ = nullptr; // the pointer to this in the source's list
};

struct Waiter {
    using Notify = void (*)(Waiter&, Source&) noexcept;
    explicit Waiter(Notify notify) noexcept : on_ready{notify} {}
    Notify on_ready;
    Source* source = nullptr; // the one waited for; combinators, which wait for many, ignore it
};

enum class StepKind : std::uint8_t { activity, child, timer, event, queue, retry, kept, never };

struct Source {
    Source() noexcept = default;
    explicit Source(StepKind step) noexcept : is_step{true}, kind{step} {}
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    ~Source() {
        if (waiter != nullptr) {
            lose_waiter();
        }
        if (refs != nullptr) {
            lose_refs();
        }
    }

    [[nodiscard]] bool ready() const noexcept { return order != 0; }
    void set_waiter(Waiter* waiting) noexcept;
    // The source is destroyed while a waiter waits for it, which will never be notified.
    void lose_waiter() noexcept;
    void lose_refs() noexcept;

    Waiter* waiter = nullptr; // stays until the waiter has seen that the source is ready
    SourceRef* refs = nullptr;
    std::uint64_t order = 0; // 0: pending; else its place in the order in which sources got ready
    bool failed = false;
    bool failure_is_value = false; // as_result(): a failure is one of the expected answers
    bool is_step = false;
    StepKind kind = StepKind::never; // of a step
    bool taken = false;              // its result was observed
    bool cancelled = false;          // the engine closed it; its waiter is not notified
};

// One durable operation. Owned by its Operation, known to the engine while it is open.
struct Slot : Source {
    Slot(Engine& owner, StepKind step, std::source_location location) noexcept
        : Source{step}, engine{&owner}, where{location} {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
        if (waiter != nullptr) {
            lose_waiter();
        }
    }

    Engine* engine;
    std::uint64_t event_id = 0; // of the event that recorded it
    // While open: the event name or child instance that it waits for, or the input of a call that
    // is undone. Then: its result.
    std::string text;
    std::unique_ptr<Failure> failure;
    std::source_location where;
    ChildPolicy child_policy = ChildPolicy::cancel;
    bool moved = false;     // its Operation was moved: it was made before its combinator
    bool waits = false;     // as recorded: a cancellation waits for its end
    bool undone = false;    // as recorded: it has an undo
    bool essential = false; // goes on when its orchestration ends: see StepRequest
    bool held = false;      // made while a cancellation waits: recorded, but not begun
    bool* unanswered = nullptr;
};

// Writes a recorded payload anew, as today's type writes it: fields that were added since then have
// their defaults, fields that were removed are gone. nullopt: the text does not fit the type.
using Recode = std::optional<std::string> (*)(std::string_view recorded);

struct StepRequest {
    StepKind kind = StepKind::activity;
    std::string_view name;
    std::string_view input;
    Recode recode = nullptr; // of the input; nullptr: it has no type
    std::string_view tag;
    std::string_view session;
    std::uint64_t call_id = 0; // of a retry: the step of the first attempt
    std::uint32_t attempt = 1; // of the call
    std::string_view child_id; // empty: derived from the parent
    std::string_view version;  // empty: the newest
    ChildPolicy child_policy = ChildPolicy::cancel;
    Instant fire_at;
    bool from_now = false;      // of a timer: fire_at is a span of time added to now()
    bool waits = false;         // a cancellation waits for its end
    std::string_view undo;      // the activity that undoes it; empty: none
    bool essential = false;     // part of a call that a cancellation waits for, or of an undo
    bool* unanswered = nullptr; // set when an activity is given up before it has answered
    bool reads_kv = false;      // of another instance, see replay::KvRead
    std::string_view kv_instance;
    std::string_view kv_key;
    std::source_location where;
};

struct UndoRequest {
    std::string_view activity;
    const CallOptions* options = nullptr;
};

// The running execution, as seen by the orchestration. Implemented by the replay engine.
class Engine {
 public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    virtual Slot* schedule(const StepRequest& request) = 0;
    virtual Slot* schedule_retrying(const StepRequest& request, const CallOptions& options) = 0;
    // A call that a cancellation waits for, or that has an undo, or both.
    virtual Slot* schedule_kept(const StepRequest& request,
                                const CallOptions& options,
                                const UndoRequest* undo) = 0;
    virtual Slot* continue_as_new(const StepRequest& request) = 0;
    virtual std::string start_detached(const StepRequest& request) = 0;
    // The operation is gone. During a turn an unfinished step is thereby cancelled.
    virtual void release(Slot* slot) noexcept = 0;
    virtual void compensate_with(const StepRequest& request, const CallOptions& options) = 0;
    // What the code asked for cannot be stored: the orchestration ends here, with this sentence.
    virtual void refuse(std::string sentence) = 0;
    // A copy that lives as long as the engine.
    [[nodiscard]] virtual std::string_view keep(std::string_view text) = 0;
    // Operands that are made inside of a combinator must be scheduled in the order of writing.
    virtual void wrong_order(const Slot& first, const Slot& second) noexcept = 0;
    // A coroutine waited for this step (nullptr: for a task or a group) when it was dropped.
    virtual void wait_lost(const Slot* step) noexcept = 0;

    virtual void set_status(std::optional<std::string_view> status, std::source_location where) = 0;
    [[nodiscard]] virtual std::optional<std::string> status() const = 0;

    virtual void kv_set(std::string_view key,
                        std::string value,
                        Recode recode, // nullptr: the value has no type
                        std::source_location where) = 0;
    virtual void kv_clear(std::string_view key, std::source_location where) = 0;
    virtual void kv_clear_all(std::source_location where) = 0;
    virtual std::size_t kv_prune(Instant before, std::source_location where) = 0;
    [[nodiscard]] virtual const std::string* kv_find(std::string_view key) const = 0;
    [[nodiscard]] virtual std::map<std::string, std::string> kv_all() const = 0;

    [[nodiscard]] virtual bool patched(std::string_view id, std::source_location where) = 0;
    [[nodiscard]] virtual std::string new_uuid() = 0;
    [[nodiscard]] virtual Instant now() const noexcept = 0;
    [[nodiscard]] virtual bool is_replaying() const noexcept = 0;
    virtual void log(LogLevel level, std::string_view message, std::source_location where) = 0;

    [[nodiscard]] virtual const std::string& instance() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t execution_id() const noexcept = 0;
    [[nodiscard]] virtual const std::string& orchestration_name() const noexcept = 0;
    [[nodiscard]] virtual const std::string& orchestration_version() const noexcept = 0;

    std::uint64_t last_order = 0;     // of the source that became ready last
    const Slot* newest = nullptr;     // of the operation that was made last; never dereferenced
    std::size_t armed_steps = 0;      // steps that a coroutine waits for
    bool keeps_message_order = false; // see replay/rules.hpp
    std::ptrdiff_t frame_bytes = 0;   // memory of its coroutine frames
};

inline void Source::set_waiter(Waiter* waiting) noexcept {
    if (is_step) {
        auto& armed = static_cast<Slot&>(*this).engine->armed_steps;
        armed += waiting != nullptr ? 1U : 0U;
        armed -= waiter != nullptr ? 1U : 0U;
    }
    if (waiter != nullptr) {
        waiter->source = nullptr;
    }
    waiter = waiting;
    if (waiting != nullptr) {
        waiting->source = this;
    }
}

// The coroutines of one turn that are ready to run; the last one in runs first.
//
// Resuming through a stack of our own instead of by symmetric transfer keeps the machine's stack
// flat (g++ does not make the tail call at -O0 or under ASan) and makes the order explicit: a task
// that is awaited runs at once, and its caller right after it.
class RunQueue {
 public:
    explicit RunQueue(Engine& engine) noexcept;
    RunQueue(const RunQueue&) = delete;
    RunQueue& operator=(const RunQueue&) = delete;
    ~RunQueue();

    // Of the turn that runs on this thread; nullptr outside of turns.
    [[nodiscard]] static RunQueue* current() noexcept;

    void push(PromiseBase& coroutine);
    void remove(PromiseBase& coroutine) noexcept;
    // Runs until no coroutine is ready, or until stop().
    void drain();
    void stop() noexcept { stopped_ = true; }
    void restart() noexcept { stopped_ = false; }
    [[nodiscard]] bool empty() const noexcept { return ready_.empty(); }
    [[nodiscard]] Engine& engine() const noexcept { return engine_; }
    // How deep the coroutine that runs now is nested; 0: none runs.
    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

 private:
    Engine& engine_;
    RunQueue* outer_;
    std::uint32_t depth_ = 0;
    std::vector<PromiseBase*> ready_; // holes (nullptr) are coroutines that were destroyed
    bool stopped_ = false;
};

// A task that runs because another one waits for it is nested in it. Frames that are nested are
// destroyed inside each other, on the machine's stack: deeper than this, a task does not begin.
inline constexpr std::uint32_t max_task_depth = 1000;

// Destroys a frame that does not run. Tasks can be put into each other without being awaited, as
// deep as memory allows: beyond what tasks that were awaited can reach, the inner ones are
// destroyed after the outer ones instead of inside them.
void destroy_nested(PromiseBase& coroutine) noexcept;

// Marks a source ready and notifies its waiter. `order`: its place in the order of sources; 0: now.
void make_ready(Source& source, bool failed, std::uint64_t order = 0) noexcept;

// Coroutine frames, counted for the execution that runs on this thread.
[[nodiscard]] void* allocate_frame(std::size_t bytes);
void free_frame(void* frame, std::size_t bytes) noexcept;

// Moves the result out. A second take, one that comes too early, and the take of a moved-from
// operation are logic_errors.
[[nodiscard]] Outcome<std::string> take_result(Slot* slot);

// An activity with the options of a call: one step, or a loop of attempts.
[[nodiscard]] Slot*
schedule_call(Engine& engine, const StepRequest& request, const CallOptions& options);

// A step that reads another instance's KV; see replay::KvRead.
[[nodiscard]] Slot* read_kv_of(Engine& engine,
                               std::string_view instance,
                               std::string_view key,
                               std::source_location where);

[[noreturn]] void throw_already_awaited();
[[noreturn]] void throw_not_finished();
[[noreturn]] void throw_moved_from();
[[noreturn]] void throw_outside_of_turn();
[[noreturn]] void throw_moved_while_awaited();
[[noreturn]] void throw_nested_too_deep();

// The engine, if one of its turns runs on this thread; throws otherwise. Compares the pointer only:
// the engine may be gone.
[[nodiscard]] Engine& checked_engine(Engine* engine);

// The waiter has been resumed: throws when what it waited for is gone.
void end_wait(Waiter& waiter);

// The source, if it may be awaited: neither moved from, nor awaited by another waiter, nor taken.
[[nodiscard]] Source& checked_source(Source* source);

// Whether it has its result; throws when it is moved from, or the result is taken.
[[nodiscard]] bool is_ready(const Source* source);

} // namespace durable::detail
