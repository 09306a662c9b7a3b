// Task<T>: the coroutine type of orchestrations and of the helpers they are split into.
//
// Lazy: the body starts when the task is awaited, or when start() is called. Single-threaded: a
// task lives inside one execution and runs in one turn at a time. Destroying an unfinished task
// cancels what it was waiting for; one that destroys itself ends where it next waits. Tasks that
// await each other may be nested detail::max_task_depth deep; the next one is a std::length_error.

#pragma once

#include <durable/detail/step.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace durable {

template <class T = void>
class Task;

namespace detail {

struct DurableAwaitableBase {}; // marks what an orchestration may co_await

template <class T>
concept DurableAwaitable = std::derived_from<std::remove_cvref_t<T>, DurableAwaitableBase>;

// The protocol of every awaitable A below: A::Value, start(), source(), take(), cancel().
//   start()   begins lazy work
//   source()  becomes ready; nullptr when the awaitable was moved from or cancelled
//   take()    the value, or throws; once
//   cancel()  gives up on it, as its destruction would
// start_at(source) and take_at(source), static, do the same to the source alone: an awaitable that
// is no source itself may move while it is awaited.

template <class A>
void start_at(Source& source) {
    if constexpr (std::derived_from<A, Source>) {
        static_cast<A&>(source).start();
    } else {
        A::start_at(source);
    }
}

template <class A>
decltype(auto) take_at(Source& source) {
    if constexpr (std::derived_from<A, Source>) {
        return static_cast<A&>(source).take();
    } else {
        return A::take_at(source);
    }
}

// Awaits in place. By value and trivial, because g++ 12 copies awaiters that await_transform
// returns by reference.
template <DurableAwaitable A>
struct Awaiter {
    Source* source;
    Waiter* waiter = nullptr; // the coroutine, when it had to wait

    bool await_ready() {
        auto& checked = checked_source(source);
        const SourceRef awaited{&checked};
        detail::start_at<A>(checked);
        if (awaited.get() == nullptr) { // a group that cancelling an operand destroyed
            throw_moved_from();
        }
        return checked.ready();
    }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        waiter = &waiting.promise();
        source->set_waiter(waiter);
    }
    decltype(auto) await_resume() {
        if (waiter != nullptr) {
            end_wait(*waiter);
        }
        return detail::take_at<A>(*source);
    }
};

class PromiseBase : public Source, public Waiter {
 public:
    PromiseBase() noexcept : Waiter{&wake} {}
    PromiseBase(const PromiseBase&) = delete;
    PromiseBase& operator=(const PromiseBase&) = delete;
    ~PromiseBase() {
        if (queued_) {
            RunQueue::current()->remove(*this);
        }
        if (Waiter::source != nullptr) { // the awaited source outlives this coroutine
            Waiter::source->set_waiter(nullptr);
        }
    }

    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept {
        free_frame(frame, bytes);
    }

    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
        struct TellWaiter {
            PromiseBase* promise;
            bool await_ready() noexcept { return false; }
            void await_suspend(std::coroutine_handle<>) const noexcept {
                make_ready(*promise, promise->failure_ != nullptr);
            }
            void await_resume() noexcept {}
        };
        return TellWaiter{this};
    }
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }

    template <class A>
    auto await_transform(A&& awaitable) noexcept {
        static_assert(DurableAwaitable<A>,
                      "an orchestration may only co_await what durable::Context or a durable::Task "
                      "gave it: anything else is invisible to replay");
        return Awaiter<std::remove_reference_t<A>>{.source = awaitable.source()};
    }

    // Destroys the frame. One that runs right now is destroyed when it next waits or ends.
    void destroy_frame() noexcept {
        if (!running_) {
            if (Waiter::source != nullptr) { // its source is destroyed with it: no lost wait
                Waiter::source->set_waiter(nullptr);
            }
            destroy_nested(*this);
            return;
        }
        doomed_ = true;
        if (Source::waiter != nullptr) {
            lose_waiter();
        }
    }

    // Puts the coroutine on the turn's run queue.
    void start() {
        if (started_) {
            return;
        }
        auto* const queue = RunQueue::current();
        if (queue == nullptr) {
            throw_outside_of_turn();
        }
        if (queue->depth() == max_task_depth) {
            throw_nested_too_deep();
        }
        depth_ = queue->depth() + 1;
        started_ = true;
        queue->push(*this);
    }

 protected:
    // Once: a second take of the same result is the user's mistake.
    void check_take() {
        if (!ready()) {
            throw_not_finished();
        }
        if (std::exchange(taken, true)) {
            throw_already_awaited();
        }
        if (failure_) {
            std::rethrow_exception(std::exchange(failure_, {}));
        }
    }

    std::coroutine_handle<> frame_; // set by the derived promise

 private:
    friend class RunQueue;
    friend void destroy_nested(PromiseBase& coroutine) noexcept;

    static void wake(Waiter& self, Source&) noexcept {
        RunQueue::current()->push(static_cast<PromiseBase&>(self));
    }

    std::exception_ptr failure_;
    std::uint32_t place_ = 0; // in the run queue
    std::uint32_t depth_ = 0; // how many tasks are nested here, this one included
    bool queued_ = false;
    bool started_ = false;
    bool running_ = false;
    bool doomed_ = false;
};

template <class T>
class TaskPromise final : public PromiseBase {
 public:
    Task<T> get_return_object() noexcept;

    template <class U = T>
        requires std::convertible_to<U, T>
    void return_value(U&& value) {
        value_.emplace(std::forward<U>(value));
    }
    T take() {
        check_take();
        return std::move(*value_);
    }

 private:
    std::optional<T> value_;
};

template <>
class TaskPromise<void> final : public PromiseBase {
 public:
    Task<void> get_return_object() noexcept;
    void return_void() noexcept {}
    void take() { check_take(); }
};

} // namespace detail

template <class T>
class [[nodiscard("a Task does nothing until it is awaited")]] Task
    : public detail::DurableAwaitableBase {
 public:
    using promise_type = detail::TaskPromise<T>;
    using Value = T;

    explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}
    Task(Task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
    Task& operator=(Task&& other) noexcept {
        Task{std::move(other)}.swap(*this);
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() { cancel(); }

    void swap(Task& other) noexcept { std::swap(frame_, other.frame_); }

    // Lets the body run beside its creator: it begins when the creator next waits.
    void start() { promise().start(); }

    [[nodiscard]] detail::Source* source() noexcept { return frame_ ? &frame_.promise() : nullptr; }
    T take() { return promise().take(); }
    void cancel() noexcept {
        if (frame_) {
            std::exchange(frame_, {}).promise().destroy_frame();
        }
    }
    static void start_at(detail::Source& source) { static_cast<promise_type&>(source).start(); }
    static T take_at(detail::Source& source) { return static_cast<promise_type&>(source).take(); }

    // Hands the frame to the engine, which owns the frame of the orchestration itself.
    [[nodiscard]] std::coroutine_handle<promise_type> release() noexcept {
        return std::exchange(frame_, {});
    }

 private:
    [[nodiscard]] promise_type& promise() {
        if (!frame_) {
            detail::throw_moved_from();
        }
        return frame_.promise();
    }

    std::coroutine_handle<promise_type> frame_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() noexcept {
    const auto frame = std::coroutine_handle<TaskPromise<T>>::from_promise(*this);
    frame_ = frame;
    return Task<T>{frame};
}

inline Task<void> detail::TaskPromise<void>::get_return_object() noexcept {
    const auto frame = std::coroutine_handle<TaskPromise<void>>::from_promise(*this);
    frame_ = frame;
    return Task<void>{frame};
}

} // namespace durable
