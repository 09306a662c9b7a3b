// Waiting for several things at once. Always written with braces:
//
//     auto [flight, hotel] = co_await all{ctx.call(book_flight, who), ctx.call(book_hotel, who)};
//     auto first = co_await race{ctx.wait_for(approval), ctx.sleep(24h)};
//     auto outcomes = co_await all_settled{calls};
//
// Inside braces the operands are evaluated from left to right; the order of function arguments is
// the compiler's choice, and a history must not depend on it.
//
// An operand that is given by name (an lvalue) is borrowed: the combinator waits for it, but never
// cancels it. Every other operand is owned, and cancelled when it is no longer needed.

#pragma once

#include <durable/detail/group.hpp>

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Templates written like functions: their names are lower case.
// NOLINTBEGIN(readability-identifier-naming)

namespace durable {

namespace detail {

// What all{1, 2} becomes: one sentence instead of a page of errors.
struct NoAwaitable {};

template <class... As>
concept SomeAwaitables =
    (DurableAwaitable<As> && ...) || (sizeof...(As) == 1 && (AwaitableRange<As> && ...));

class Refused : public DurableAwaitableBase {
 public:
    using Value = Unit;

    template <class... As>
    explicit Refused(const As&...) {
        static_assert(SomeAwaitables<As...>,
                      "all, all_settled and race wait for operations, tasks and groups of them, or "
                      "for one range of those: nothing else can be awaited");
    }

    static void start_at(Source&) noexcept {}
    static Unit take_at(Source&) noexcept { return {}; }
    [[nodiscard]] Source* source() noexcept { return nullptr; }
    Unit take() noexcept { return {}; }
    void start() noexcept {}
    void cancel() noexcept {}
};

} // namespace detail

// Waits for every operand. Several: a tuple of results. A range of them: a vector, in order. The
// first failure to arrive is thrown at once, and what is still running is cancelled.
template <class... As>
class [[nodiscard]] all final : public detail::Group<As...> {
 public:
    using Value = std::tuple<detail::ValueOf<As>...>;

    explicit all(As... operands)
        : detail::Group<As...>{detail::GroupMode::every, std::move(operands)...} {}

    Value take() {
        this->begin_take();
        this->throw_failure();
        return std::apply([](auto&... operand) { return Value{detail::take_value(operand)...}; },
                          this->operands_);
    }
};

template <class A>
class [[nodiscard]] all<std::vector<A>> final : public detail::RangeGroup<A> {
 public:
    using Value = std::vector<detail::ValueOf<A>>;

    template <detail::AwaitableRange Range>
    explicit all(Range&& range) // NOLINT(bugprone-forwarding-reference-overload)
        : detail::RangeGroup<A>{detail::GroupMode::every, std::forward<Range>(range)} {}

    Value take() {
        this->begin_take();
        this->throw_failure();
        Value values;
        values.reserve(this->operands_.size());
        for (auto& operand : this->operands_) {
            values.push_back(detail::take_value(operand));
        }
        return values;
    }
};

// Waits for every operand and returns successes and failures alike, as Outcome<T>.
template <class... As>
class [[nodiscard]] all_settled final : public detail::Group<As...> {
 public:
    using Value = std::tuple<Outcome<typename As::Value>...>;

    explicit all_settled(As... operands)
        : detail::Group<As...>{detail::GroupMode::settled, std::move(operands)...} {}

    Value take() {
        this->begin_take();
        return std::apply([](auto&... operand) { return Value{detail::take_settled(operand)...}; },
                          this->operands_);
    }
};

template <class A>
class [[nodiscard]] all_settled<std::vector<A>> final : public detail::RangeGroup<A> {
 public:
    using Value = std::vector<Outcome<typename A::Value>>;

    template <detail::AwaitableRange Range>
    explicit all_settled(Range&& range) // NOLINT(bugprone-forwarding-reference-overload)
        : detail::RangeGroup<A>{detail::GroupMode::settled, std::forward<Range>(range)} {}

    Value take() {
        this->begin_take();
        Value values;
        values.reserve(this->operands_.size());
        for (auto& operand : this->operands_) {
            values.push_back(detail::take_settled(operand));
        }
        return values;
    }
};

// Waits for the first operand to complete and cancels the others. Among operands that were complete
// before the race began, the one that completed first wins. Several: a variant; index() is that of
// the winner. A range: a Winner. A winner that failed throws.
template <class... As>
class [[nodiscard]] race final : public detail::Group<As...> {
 public:
    using Value = std::variant<detail::ValueOf<As>...>;

    explicit race(As... operands)
        : detail::Group<As...>{detail::GroupMode::first, std::move(operands)...} {}

    Value take() {
        this->begin_take();
        return take_winner<0>();
    }

 private:
    template <std::size_t I>
    Value take_winner() {
        if constexpr (I + 1 < sizeof...(As)) {
            if (this->decider() != I) {
                return take_winner<I + 1>();
            }
        }
        return Value{std::in_place_index<I>, detail::take_value(std::get<I>(this->operands_))};
    }
};

template <class T>
struct Winner {
    std::size_t index = 0;
    T value;
};

template <class A>
class [[nodiscard]] race<std::vector<A>> final : public detail::RangeGroup<A> {
 public:
    using Value = Winner<detail::ValueOf<A>>;

    template <detail::AwaitableRange Range>
    explicit race(Range&& range) // NOLINT(bugprone-forwarding-reference-overload)
        : detail::RangeGroup<A>{detail::GroupMode::first, std::forward<Range>(range)} {}

    Value take() {
        this->begin_take();
        const auto index = this->decider();
        return {.index = index, .value = detail::take_value(this->operands_[index])};
    }
};

template <>
class all<detail::NoAwaitable> final : public detail::Refused {
 public:
    using Refused::Refused;
};
template <>
class all_settled<detail::NoAwaitable> final : public detail::Refused {
 public:
    using Refused::Refused;
};
template <>
class race<detail::NoAwaitable> final : public detail::Refused {
 public:
    using Refused::Refused;
};

template <class... As>
    requires(!detail::SomeAwaitables<As...>)
all(As&&...) -> all<detail::NoAwaitable>;
template <class... As>
    requires(!detail::SomeAwaitables<As...>)
all_settled(As&&...) -> all_settled<detail::NoAwaitable>;
template <class... As>
    requires(!detail::SomeAwaitables<As...>)
race(As&&...) -> race<detail::NoAwaitable>;

// A group of one group is no copy of it: without these, all{all{x}} would be all{x}.
template <class... As>
all(all<As...>&&) -> all<all<As...>>;
template <class... As>
all(all<As...>&) -> all<detail::Borrowed<all<As...>>>;
template <class... As>
all_settled(all_settled<As...>&&) -> all_settled<all_settled<As...>>;
template <class... As>
all_settled(all_settled<As...>&) -> all_settled<detail::Borrowed<all_settled<As...>>>;
template <class... As>
race(race<As...>&&) -> race<race<As...>>;
template <class... As>
race(race<As...>&) -> race<detail::Borrowed<race<As...>>>;

template <detail::DurableAwaitable... As>
all(As&&...) -> all<detail::Operand<As>...>;
template <detail::AwaitableRange Range>
all(Range&&) -> all<std::vector<detail::OperandOf<Range>>>;
template <detail::DurableAwaitable... As>
all_settled(As&&...) -> all_settled<detail::Operand<As>...>;
template <detail::AwaitableRange Range>
all_settled(Range&&) -> all_settled<std::vector<detail::OperandOf<Range>>>;
template <detail::DurableAwaitable... As>
race(As&&...) -> race<detail::Operand<As>...>;
template <detail::AwaitableRange Range>
race(Range&&) -> race<std::vector<detail::OperandOf<Range>>>;

namespace detail {

// ctx.within(): a race between the work and a timer.
template <DurableAwaitable A>
class [[nodiscard]] Within final : public DurableAwaitableBase {
 public:
    using Value = std::optional<ValueOf<A>>;

    Within(A work, Operation<void> timer) : race_{std::move(work), std::move(timer)} {}

    void start() { race_.start(); }
    [[nodiscard]] Source* source() noexcept { return race_.source(); }
    void cancel() noexcept { race_.cancel(); }
    Value take() { return take_at(race_); }
    static void start_at(Source& source) { static_cast<Race&>(source).start(); }
    static Value take_at(Source& source) {
        auto first = static_cast<Race&>(source).take();
        if (first.index() != 0) {
            return std::nullopt;
        }
        return std::get<0>(std::move(first));
    }

 private:
    using Race = race<A, Operation<void>>;
    Race race_;
};

} // namespace detail

} // namespace durable

// NOLINTEND(readability-identifier-naming)
