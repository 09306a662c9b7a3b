// A stage for coroutines: tasks run on it, every pause truly suspends them, and objects are counted
// that would be damaged by a compiler that moves or destroys them wrongly.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/log.hpp>
#include <durable/task.hpp>
#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace durable::compiler_test {

// Knows where it lives: a bitwise copy, a second destruction and a lost one are all noticed.
class Tracked {
 public:
    explicit Tracked(std::string text = "tracked") : text_{std::move(text)}, self_{this} { ++live; }
    Tracked(const Tracked& other) : text_{other.checked().text_}, self_{this} { ++live; }
    Tracked(Tracked&& other) noexcept : text_{std::move(other.checked().text_)}, self_{this} {
        ++live;
    }
    Tracked& operator=(const Tracked& other) {
        text_ = other.checked().text_;
        return *this;
    }
    Tracked& operator=(Tracked&& other) noexcept {
        text_ = std::move(other.checked().text_);
        return *this;
    }
    ~Tracked() {
        checked().self_ = nullptr;
        --live;
    }

    [[nodiscard]] const std::string& text() const { return checked().text_; }

    static inline int live = 0;
    static inline int damaged = 0;

 private:
    [[nodiscard]] const Tracked& checked() const noexcept {
        damaged += self_ == this ? 0 : 1;
        return *this;
    }
    [[nodiscard]] Tracked& checked() noexcept {
        damaged += self_ == this ? 0 : 1;
        return *this;
    }

    std::string text_;
    Tracked* self_;
};

inline std::deque<detail::Source*>& paused() {
    static std::deque<detail::Source*> sources;
    return sources;
}

// Suspends the awaiting coroutine, then gives the value.
template <class T>
class Pause : public detail::DurableAwaitableBase, public detail::Source {
 public:
    using Value = T;

    explicit Pause(T value) : value_{std::move(value)} {}
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause() { std::erase(paused(), this); }

    void start() { paused().push_back(this); }
    [[nodiscard]] detail::Source* source() noexcept { return this; }
    T take() { return std::move(value_); }
    void cancel() noexcept {}

 private:
    T value_;
};

inline Pause<std::string> pause(std::string text) {
    return Pause<std::string>{std::move(text)};
}
inline Pause<int> pause(int number) {
    return Pause<int>{number};
}

// Only what tasks need of an engine.
class Stage final : public detail::Engine {
 public:
    // Runs the task to its end.
    template <class T>
    T finish(Task<T> task) {
        detail::RunQueue queue{*this};
        task.start();
        queue.drain();
        while (!paused().empty()) {
            wake_first();
            queue.drain();
        }
        return task.take();
    }
    // Runs the task until it has paused this many times, and destroys it there.
    template <class T>
    void evict(Task<T> task, int pauses) {
        detail::RunQueue queue{*this};
        task.start();
        queue.drain();
        for (int i = 1; i < pauses; ++i) {
            wake_first();
            queue.drain();
        }
        task.cancel();
    }

    using Where = std::source_location;
    detail::Slot* schedule(const detail::StepRequest&) override { return nullptr; }
    detail::Slot* schedule_retrying(const detail::StepRequest&, const CallOptions&) override {
        return nullptr;
    }
    detail::Slot* schedule_kept(const detail::StepRequest&,
                                const CallOptions&,
                                const detail::UndoRequest*) override {
        return nullptr;
    }
    detail::Slot* continue_as_new(const detail::StepRequest&) override { return nullptr; }
    void refuse(std::string) override {}
    std::string_view keep(std::string_view text) override { return text; }
    std::string start_detached(const detail::StepRequest&) override { return {}; }
    void release(detail::Slot*) noexcept override {}
    void compensate_with(const detail::StepRequest&, const CallOptions&) override {}
    void wrong_order(const detail::Slot&, const detail::Slot&) noexcept override {}
    void wait_lost(const detail::Slot*) noexcept override {}
    void set_status(std::optional<std::string_view>, Where) override {}
    [[nodiscard]] std::optional<std::string> status() const override { return {}; }
    void kv_set(std::string_view, std::string, detail::Recode, Where) override {}
    void kv_clear(std::string_view, Where) override {}
    void kv_clear_all(Where) override {}
    std::size_t kv_prune(Instant, Where) override { return 0; }
    [[nodiscard]] const std::string* kv_find(std::string_view) const override { return nullptr; }
    [[nodiscard]] std::map<std::string, std::string> kv_all() const override { return {}; }
    [[nodiscard]] bool patched(std::string_view, Where) override { return false; }
    [[nodiscard]] std::string new_uuid() override { return {}; }
    [[nodiscard]] Instant now() const noexcept override { return {}; }
    [[nodiscard]] bool is_replaying() const noexcept override { return false; }
    void log(LogLevel, std::string_view, Where) override {}
    [[nodiscard]] const std::string& instance() const noexcept override { return nothing_; }
    [[nodiscard]] std::uint64_t execution_id() const noexcept override { return 0; }
    [[nodiscard]] const std::string& orchestration_name() const noexcept override {
        return nothing_;
    }
    [[nodiscard]] const std::string& orchestration_version() const noexcept override {
        return nothing_;
    }

 private:
    static void wake_first() {
        auto* const source = paused().front();
        paused().pop_front();
        detail::make_ready(*source, false);
    }

    std::string nothing_;
};

} // namespace durable::compiler_test
