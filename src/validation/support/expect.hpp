// Expectations of checks. A broken one ends the check by exception: the message has the line, the
// sentence that does not hold, and both values. Free of any test framework.

#pragma once

#include "validation/support/show.hpp"

#include <durable/result.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace durable::validation {

using Where = std::source_location;

class CheckFailed final : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

class CheckSkipped final : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

// Ends the check: broken, or not applicable to this provider.
[[noreturn]] void fail_check(std::string_view message, Where where = Where::current());
[[noreturn]] void skip(const std::string& reason);

// `sentence` says what should hold: "a lease is exclusive".
void expect(bool holds, std::string_view sentence, Where where = Where::current());

namespace detail {

template <class T>
concept Number = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class A, class B>
bool equal(const A& a, const B& b) {
    if constexpr (Number<A> && Number<B>) {
        return std::cmp_equal(a, b);
    } else {
        return a == b;
    }
}

template <class A, class B>
bool less(const A& a, const B& b) {
    if constexpr (Number<A> && Number<B>) {
        return std::cmp_less(a, b);
    } else {
        return a < b;
    }
}

[[noreturn]] void fail_comparison(std::string_view sentence,
                                  const std::string& wanted,
                                  const std::string& got,
                                  Where where);
[[noreturn]] void fail_with(const Error& error, std::string_view sentence, Where where);

} // namespace detail

template <class A, class B>
void expect_eq(const A& got,
               const B& wanted,
               std::string_view sentence,
               Where where = Where::current()) {
    if (!detail::equal(got, wanted)) {
        detail::fail_comparison(sentence, show(wanted), show(got), where);
    }
}

template <class A, class B>
void expect_ne(const A& got,
               const B& unwanted,
               std::string_view sentence,
               Where where = Where::current()) {
    if (detail::equal(got, unwanted)) {
        detail::fail_comparison(sentence, "anything but " + show(unwanted), show(got), where);
    }
}

template <class A, class B>
void expect_at_least(const A& got,
                     const B& least,
                     std::string_view sentence,
                     Where where = Where::current()) {
    if (detail::less(got, least)) {
        detail::fail_comparison(sentence, "at least " + show(least), show(got), where);
    }
}

template <class A, class B>
void expect_below(const A& got,
                  const B& limit,
                  std::string_view sentence,
                  Where where = Where::current()) {
    if (!detail::less(got, limit)) {
        detail::fail_comparison(sentence, "below " + show(limit), show(got), where);
    }
}

// The call succeeded.
template <class T>
void expect_ok(const Result<T>& result, std::string_view sentence, Where where = Where::current()) {
    if (!result) {
        detail::fail_with(result.error(), sentence, where);
    }
}

// The value of a call that must succeed.
template <class T>
[[nodiscard]] T value_of(Result<T> result, Where where = Where::current()) {
    if (!result) {
        detail::fail_with(result.error(), "the call succeeds", where);
    }
    return *std::move(result);
}

// The call was refused with this code. Returns the error, for checks of its text.
template <class T>
Error expect_error(const Result<T>& result,
                   ErrorCode wanted,
                   std::string_view sentence,
                   Where where = Where::current()) {
    if (result) {
        detail::fail_comparison(
            sentence, "error " + std::string{name_of(wanted)}, "success", where);
    }
    if (result.error().code != wanted) {
        detail::fail_comparison(sentence,
                                "error " + std::string{name_of(wanted)},
                                "error " + show(result.error()),
                                where);
    }
    return result.error();
}

// Some text of an error or a value, ignoring case.
void expect_mentions(std::string_view text,
                     std::string_view part,
                     std::string_view sentence,
                     Where where = Where::current());

// The hook of a factory worked. A hook that is not offered makes the check skip.
void need(const Result<>& hook, Where where = Where::current());
template <class T>
[[nodiscard]] T need(Result<T> hook, Where where = Where::current()) {
    if (!hook) {
        need(Result<>{std::unexpected{std::move(hook).error()}}, where);
    }
    return *std::move(hook);
}

// Runs body(0) ... body(count - 1) on one thread each, which pass a barrier together, and waits for
// all of them. Rethrows the first exception of a body.
void all_at_once(std::size_t count, const std::function<void(std::size_t)>& body);

} // namespace durable::validation
