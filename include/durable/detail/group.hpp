// The parts of the combinators of combine.hpp. Not for users.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/operation.hpp>
#include <durable/result.hpp>
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

// An operand that the user's code owns. The owner may move it, and even drop it: then it is empty.
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

// The group owns the elements of a range that makes them (a transform) or was moved into it.
template <class Range>
inline constexpr bool gives_elements =
    !std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> ||
    (!std::is_lvalue_reference_v<Range> && !std::ranges::view<std::remove_cvref_t<Range>>);

// Empty for a type that is no range: all{x} instantiates it to find out what x is.
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

// The rules, without the types: a source for the coroutine that awaits the group, and the one
// waiter of all its operands. It may be moved until it is awaited; later that is a logic_error.
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
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    // Cancels the other operands, in the order they were written. Destructors in their frames may
    // destroy this group: the caller checks a SourceRef of it before it goes on.
    virtual void cancel_all_but(std::size_t keep) noexcept = 0;
    [[nodiscard]] virtual std::size_t place_of(const Source& operand) noexcept = 0;

    // At the start: once for each operand, then decide_at_start().
    void consider(Source* operand);
    bool decide_at_start();
    // Operands that are complete when the group starts need no waiter.
    void wait_for(Source& operand);
    void stop_waiting(Source* operand) noexcept;
    void begin_take();
    // The winner of a race, the failure of an all. An index, not a source: the owner of a borrowed
    // operand may have dropped it meanwhile, and then take() throws.
    [[nodiscard]] std::size_t decider() const noexcept { return decider_; }

    // False, of both: cancelling an operand destroyed the group.
    template <class A>
    bool begin(const SourceRef& self, A& operand) {
        operand.start(); // a group may be decided at once, and cancel its other operands
        return self.get() != nullptr;
    }
    template <class A>
    bool let_go(const SourceRef& self, A& operand, bool keep) noexcept {
        stop_waiting(operand.source());
        if (!keep) {
            operand.cancel();
        }
        return self.get() != nullptr;
    }

    // Discards the turn if the compiler evaluated the operands backwards.
    static void check_order(const Slot*& last, const Slot* next) noexcept;

    bool started_ = false;

 private:
    static void operand_ready(Waiter& self, Source& operand) noexcept;
    [[nodiscard]] bool decides(const Source& operand) const noexcept;
    void decide(const Source* decider, std::uint64_t order) noexcept;

    const Source* complete_ = nullptr; // while it starts: the operand that decides it at once
    std::uint64_t latest_ = 0;         // likewise: the order of the operand that completed last
    std::size_t decider_ = none;
    std::size_t pending_ = 0;
    GroupMode mode_;
};

template <class... As>
class Group : public GroupBase {
 public:
    // The operands as the combinator got them: a moved operand was made before, the others were
    // made in place.
    explicit Group(GroupMode mode, As&&... operands)
        : GroupBase{in_order(mode, operands...)}, operands_{std::move(operands)...} {}
    Group(Group&&) = default;
    Group& operator=(Group&&) = delete;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group() override { cancel(); }

    void start() {
        if (std::exchange(started_, true)) {
            return;
        }
        const SourceRef self{this};
        // The run queue is last in, first out: backwards makes the first operand run first.
        const bool there = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return (begin(self, std::get<sizeof...(As) - 1 - I>(operands_)) && ...);
        }(std::index_sequence_for<As...>{});
        if (!there) {
            return;
        }
        each([this](auto& operand) { consider(operand.source()); });
        if (!decide_at_start()) {
            each([this](auto& operand) { wait_for(*operand.source()); });
        }
    }
    void cancel() noexcept { cancel_all_but(this->none); }

 protected:
    template <class F>
    void each(F&& f) {
        std::apply([&](auto&... operand) { (f(operand), ...); }, operands_);
    }
    // For an all that ended early: throws the failure of the operand that ended it.
    void throw_failure() {
        if (this->decider() != this->none) {
            each([this, place = std::size_t{0}](auto& operand) mutable {
                if (place++ == this->decider()) {
                    static_cast<void>(take_value(operand));
                }
            });
        }
    }

    std::tuple<As...> operands_;

 private:
    static GroupMode in_order(GroupMode mode, const As&... operands) noexcept {
        const Slot* last = nullptr;
        const auto check = [&](const auto& operand) {
            if constexpr (requires { operand.slot(); }) {
                check_order(last, operand.slot());
            }
        };
        (check(operands), ...);
        return mode;
    }
    void cancel_all_but(std::size_t keep) noexcept final {
        const SourceRef self{this};
        std::size_t place = 0;
        std::apply(
            [&](auto&... operand) {
                static_cast<void>((this->let_go(self, operand, place++ == keep) && ...));
            },
            operands_);
    }
    [[nodiscard]] std::size_t place_of(const Source& operand) noexcept final {
        std::size_t place = 0;
        std::apply(
            [&](auto&... candidate) {
                static_cast<void>(((candidate.source() != &operand && ++place != 0) && ...));
            },
            operands_);
        return place;
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
        const SourceRef self{this};
        for (auto& operand : operands_ | std::views::reverse) {
            if (!this->begin(self, operand)) {
                return;
            }
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
    void cancel() noexcept { cancel_all_but(this->none); }

 protected:
    void throw_failure() {
        if (this->decider() != this->none) {
            static_cast<void>(take_value(operands_.at(this->decider())));
        }
    }

    std::vector<A> operands_;

 private:
    void cancel_all_but(std::size_t keep) noexcept final {
        const SourceRef self{this};
        for (std::size_t place = 0; place < operands_.size(); ++place) {
            if (!this->let_go(self, operands_[place], place == keep)) {
                return;
            }
        }
    }
    [[nodiscard]] std::size_t place_of(const Source& operand) noexcept final {
        std::size_t place = 0;
        while (operands_[place].source() != &operand) {
            ++place;
        }
        return place;
    }
};

} // namespace durable::detail
