// Handlers: registered code without its types, as the runtime and the engine see it.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/task.hpp>
#include <durable/version.hpp>

#include <coroutine>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace durable {

class ActivityContext;
class Context;

namespace detail {

// The frame of an orchestration, whatever its result type is.
class RootTask {
 public:
    using Take = std::string (*)(PromiseBase&);

    RootTask() noexcept = default;
    // Throws std::logic_error when the task is empty.
    template <class R>
    RootTask(Task<R> task, Take how, Recode result = nullptr) : take_{how}, recode_{result} {
        if (task.source() == nullptr) {
            throw_moved_from();
        }
        const auto frame = task.release();
        promise_ = &frame.promise();
        frame_ = frame;
    }
    RootTask(RootTask&& other) noexcept
        : frame_{std::exchange(other.frame_, {})},
          promise_{other.promise_},
          take_{other.take_},
          recode_{other.recode_} {}
    RootTask& operator=(RootTask&& other) noexcept {
        reset();
        frame_ = std::exchange(other.frame_, {});
        promise_ = other.promise_;
        take_ = other.take_;
        recode_ = other.recode_;
        return *this;
    }
    RootTask(const RootTask&) = delete;
    RootTask& operator=(const RootTask&) = delete;
    ~RootTask() { reset(); }

    void reset() noexcept {
        if (std::exchange(frame_, {})) {
            promise_->destroy_frame();
        }
    }
    [[nodiscard]] bool exists() const noexcept { return static_cast<bool>(frame_); }
    [[nodiscard]] bool ready() const noexcept { return promise_->ready(); }
    [[nodiscard]] bool failed() const noexcept { return promise_->failed; } // once it is ready
    void start() { promise_->start(); }
    // The encoded result, or throws what the orchestration threw.
    [[nodiscard]] std::string take() { return take_(*promise_); }
    [[nodiscard]] Recode recode() const noexcept { return recode_; } // of the result

 private:
    std::coroutine_handle<> frame_;
    PromiseBase* promise_ = nullptr;
    Take take_ = nullptr;
    Recode recode_ = nullptr;
};

} // namespace detail

// Runs one activity: the encoded result, or throws. An OperationFailed carries its Failure into
// history; any other exception becomes a failure with its text.
using ActivityHandler = std::function<std::string(ActivityContext&, std::string_view input)>;

// One version of one orchestration. Shared, because cached executions may outlive the registry.
struct OrchestrationHandler {
    std::string name;
    Version version;
    std::string version_text;
    std::function<detail::RootTask(Context, std::string_view input)> begin;
};

} // namespace durable
