// What the combinators of combine.hpp are made of. Not for users.

#pragma once

#include <durable/operation.hpp>
#include <durable/result.hpp>
#include <durable/step.hpp>
#include <durable/task.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace durable::detail {

template <class A>
using ValueOf = std::conditional_t<std::is_void_v<typename A::Value>, Unit, typename A::Value>;

// An operand that somebody else owns. The owner may move it, and even drop it: then it is empty.
template <DurableAwaitable A>
class Borrowed : public DurableAwaitableBase {
 public:
    using Value = typename A::Value;

    Borrowed(A& awaitable) noexcept : source_{awaitable.source()} {} // NOLINT(google-explicit-*)

    void start() { detail::start_at<A>(existing()); }
    [[nodiscard]] Source* source() noexcept { return source_.get(); }
    decltype(auto) take() { return detail::take_at<A>(existing()); }
    void cancel() noexcept {}

 private:
    [[nodiscard]] Source& existing() const {
        if (source_.get() == nullptr) {
            throw_moved_from();
        }
        return *source_.get();
    }

    SourceRef source_;
};

template <class A>
using Operand = std::conditional_t<std::is_lvalue_reference_v<A>,
                                   Borrowed<std::remove_reference_t<A>>,
                                   std::remove_cvref_t<A>>;

template <class Range>
concept AwaitableRange = std::ranges::input_range<Range> &&
                         DurableAwaitable<std::ranges::range_value_t<std::remove_cvref_t<Range>>>;

// A range that makes its elements (a transform) or is given away (a moved vector) gives them away.
template <class Range>
inline constexpr bool gives_elements =
    !std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> ||
    (!std::is_lvalue_reference_v<Range> && !std::ranges::view<std::remove_cvref_t<Range>>);

// Nothing for what is no range: all{x} asks while it decides what it was given.
template <class Range>
struct ElementOperand {};
template <AwaitableRange Range>
struct ElementOperand<Range> {
    using type = std::conditional_t<gives_elements<Range>,
                                    std::ranges::range_value_t<Range>,
                                    Borrowed<std::ranges::range_value_t<Range>>>;
};
template <class Range>
using OperandOf = typename ElementOperand<Range>::type;

template <DurableAwaitable A>
ValueOf<A> take_value(A& awaitable) {
    if constexpr (std::is_void_v<typename A::Value>) {
        awaitable.take();
        return {};
    } else {
        return awaitable.take();
    }
}

template <DurableAwaitable A>
Outcome<typename A::Value> take_settled(A& awaitable) {
    try {
        if constexpr (std::is_void_v<typename A::Value>) {
            awaitable.take();
            return {};
        } else {
            return awaitable.take();
        }
    } catch (const OperationFailed& failed) {
        return std::unexpected{failed.failure()};
    } catch (const std::exception& error) {
        return std::unexpected{
            Failure{.kind = std::string{failure_kind::panicked}, .message = text_of(error)}};
    } catch (...) {
        return std::unexpected{
            Failure{.kind = std::string{failure_kind::panicked}, .message = foreign_exception}};
    }
}

enum class GroupMode : std::uint8_t { every, settled, first };

// The rules, without the types: a source for whoever waits for the group, and the one waiter of all
// its operands. It may be moved until it is awaited; later that is a logic_error.
class GroupBase : public DurableAwaitableBase, public Source, public Waiter {
 public:
    explicit GroupBase(GroupMode mode) noexcept : Waiter{&operand_ready}, mode_{mode} {}
    // NOLINTNEXTLINE(*-noexcept-move*, bugprone-exception-escape): better than a lost waiter
    GroupBase(GroupBase&& other) : GroupBase{other.mode_} {
        if (other.started_ && !other.taken) {
            throw_moved_while_awaited();
        }
    }
    GroupBase& operator=(GroupBase&&) = delete;
    GroupBase(const GroupBase&) = delete;
    GroupBase& operator=(const GroupBase&) = delete;
    virtual ~GroupBase() = default;

    [[nodiscard]] Source* source() noexcept { return this; }

 protected:
    // Operands that still matter are kept, the others cancelled, in the order they were written.
    virtual void cancel_all_but(const Source* keep) noexcept = 0;

    // At the start: once for each operand, then decide_at_start().
    void consider(Source* operand);
    bool decide_at_start();
    // Operands that are complete when the group starts need no waiter.
    void wait_for(Source& operand);
    void stop_waiting(Source* operand) noexcept;
    void begin_take();

    // Throws away a turn in which the compiler evaluated the operands backwards.
    static void check_order(const Slot*& last, const Slot* next) noexcept;

    Source* decider_ = nullptr; // the winner of a race, the failure of an all
    bool started_ = false;

 private:
    static void operand_ready(Waiter& self, Source& operand) noexcept;
    [[nodiscard]] bool decides(const Source& operand) const noexcept;
    void decide(Source* decider) noexcept;

    std::size_t pending_ = 0;
    GroupMode mode_;
};

template <class... As>
class Group : public GroupBase {
 public:
    explicit Group(GroupMode mode, As... operands)
        : GroupBase{mode}, operands_{std::move(operands)...} {
        const Slot* last = nullptr;
        each([&](auto& operand) {
            if constexpr (requires { operand.slot(); }) {
                check_order(last, operand.slot());
            }
        });
    }
    Group(Group&&) = default;
    Group& operator=(Group&&) = delete;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group() override { cancel(); }

    void start() {
        if (std::exchange(started_, true)) {
            return;
        }
        // The run queue is last in, first out: backwards makes the first operand run first.
        [this]<std::size_t... I>(std::index_sequence<I...>) {
            (std::get<sizeof...(As) - 1 - I>(operands_).start(), ...);
        }(std::index_sequence_for<As...>{});
        each([this](auto& operand) { consider(operand.source()); });
        if (!decide_at_start()) {
            each([this](auto& operand) { wait_for(*operand.source()); });
        }
    }
    void cancel() noexcept { cancel_all_but(nullptr); }

 protected:
    template <class F>
    void each(F&& f) {
        std::apply([&](auto&... operand) { (f(operand), ...); }, operands_);
    }
    template <class A>
    [[nodiscard]] bool is_decider(A& operand) const noexcept {
        return operand.source() == decider_;
    }
    // Of an all that ended early: the operand that ended it says why.
    void throw_failure() {
        if (decider_ != nullptr) {
            each([this](auto& operand) {
                if (this->is_decider(operand)) {
                    static_cast<void>(take_value(operand));
                }
            });
        }
    }

    std::tuple<As...> operands_;

 private:
    void cancel_all_but(const Source* keep) noexcept final {
        each([this, keep](auto& operand) {
            stop_waiting(operand.source());
            if (keep == nullptr || operand.source() != keep) {
                operand.cancel();
            }
        });
    }
};

template <class A>
class RangeGroup : public GroupBase {
 public:
    template <class Range>
    RangeGroup(GroupMode mode, Range&& range) // NOLINT(cppcoreguidelines-missing-std-forward)
        : GroupBase{mode} {
        if constexpr (std::ranges::sized_range<Range>) {
            operands_.reserve(std::ranges::size(range));
        }
        for (auto&& operand : range) {
            operands_.emplace_back(
                static_cast<std::conditional_t<gives_elements<Range>,
                                               std::remove_cvref_t<decltype(operand)>&&,
                                               decltype(operand)>>(operand));
        }
    }
    RangeGroup(RangeGroup&&) = default;
    RangeGroup& operator=(RangeGroup&&) = delete;
    RangeGroup(const RangeGroup&) = delete;
    RangeGroup& operator=(const RangeGroup&) = delete;
    ~RangeGroup() override { cancel(); }

    void start() {
        if (std::exchange(started_, true)) {
            return;
        }
        for (auto& operand : operands_ | std::views::reverse) {
            operand.start();
        }
        for (auto& operand : operands_) {
            consider(operand.source());
        }
        if (!decide_at_start()) {
            for (auto& operand : operands_) {
                wait_for(*operand.source());
            }
        }
    }
    void cancel() noexcept { cancel_all_but(nullptr); }

 protected:
    [[nodiscard]] bool is_decider(A& operand) const noexcept {
        return operand.source() == decider_;
    }
    void throw_failure() {
        if (decider_ != nullptr) {
            for (auto& operand : operands_) {
                if (this->is_decider(operand)) {
                    static_cast<void>(take_value(operand));
                }
            }
        }
    }

    std::vector<A> operands_;

 private:
    void cancel_all_but(const Source* keep) noexcept final {
        for (auto& operand : operands_) {
            stop_waiting(operand.source());
            if (keep == nullptr || operand.source() != keep) {
                operand.cancel();
            }
        }
    }
};

} // namespace durable::detail
