// Contracts: the durable names and types that callers and implementations agree on.
//
//     constexpr durable::Activity<Receipt(Order)>      charge_card{"ChargeCard"};
//     constexpr durable::Orchestration<Receipt(Order)> place_order{"PlaceOrder"};
//     constexpr durable::Event<Approval>               approval{"Approval"};
//     constexpr durable::Queue<ChatMessage>            inbox{"Inbox"};
//
// A contract is a value, so a misspelt one does not compile. Its name is written into history:
// renaming the C++ variable is free, renaming the string orphans running instances.

#pragma once

#include <durable/payload.hpp>

#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace durable {

namespace detail {

// What is wrong with a name, as a sentence; nullptr when nothing is. Names travel into SQL rows,
// URLs and metrics, so only plain characters are let in.
[[nodiscard]] constexpr const char* name_problem(std::string_view name) noexcept {
    if (name.empty() || name.size() > 128) {
        return "a durable name has 1 to 128 characters";
    }
    if (name.starts_with("__")) {
        return "a durable name must not begin with '__': such names are the library's own";
    }
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        if (!letter && !digit && c != '_' && c != '-' && c != '.' && c != ':') {
            return "a durable name consists of letters, digits, '_', '-', '.' and ':'";
        }
    }
    return nullptr;
}

class Name {
 public:
    constexpr explicit Name(std::string_view text) : text_{text} {
        if (const auto* problem = name_problem(text)) {
            // Compilers show the line that stopped a constant expression, so it carries the rule.
            throw std::invalid_argument{problem}; // name: 1-128 letters, digits, '_', '-', '.', ':'
        }
    }

    [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

 private:
    std::string_view text_;
};

// The checks of the types, before they are used: the first mistake is the only error message.
template <class R, class In>
struct ContractCheck {
    static_assert(!std::is_reference_v<In> && !std::is_const_v<In>,
                  "write the input type of a contract without const and &: it is a value");
    static_assert(detail::OwnsItsData<R> && detail::OwnsItsData<In>,
                  "a payload must own its data: write std::string instead of std::string_view and "
                  "const char*, std::vector instead of std::span");
    static_assert(!detail::OwnsItsData<R> || PayloadOrVoid<R>,
                  "the result is neither void nor a payload: write DURABLE_PAYLOAD(Type, "
                  "members...) below its struct, in its namespace; durable/payload.hpp has other "
                  "ways");
    static_assert(!detail::OwnsItsData<In> || Payload<In>,
                  "the input is no payload: write DURABLE_PAYLOAD(Type, members...) below its "
                  "struct, in its namespace; durable/payload.hpp has other ways");
};

template <class R, class In>
class Contract {
    static_assert(sizeof(ContractCheck<R, In>) > 0);

 public:
    using Output = R;
    using Input = In;

    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_.text(); }

 protected:
    constexpr explicit Contract(std::string_view name) : name_{name} {}

 private:
    Name name_;
};

template <class>
inline constexpr bool never = false;

} // namespace detail

// Work with side effects. Runs at least once, on any worker; its result is recorded exactly once.
template <class Signature>
class Activity {
    static_assert(detail::never<Signature>,
                  "an activity is Activity<Result(Input)> or Activity<Result()>: put several "
                  "inputs into one struct");
};

template <class R, class In>
class Activity<R(In)> final : public detail::Contract<R, In> {
 public:
    consteval explicit Activity(std::string_view name) : detail::Contract<R, In>{name} {}
};

template <class R>
class Activity<R()> final : public detail::Contract<R, Unit> {
 public:
    consteval explicit Activity(std::string_view name) : detail::Contract<R, Unit>{name} {}
};

// Deterministic code, re-run from its history. Side effects only through durable::Context.
template <class Signature>
class Orchestration {
    static_assert(detail::never<Signature>,
                  "an orchestration is Orchestration<Result(Input)> or Orchestration<Result()>: "
                  "put several inputs into one struct");
};

template <class R, class In>
class Orchestration<R(In)> final : public detail::Contract<R, In> {
 public:
    consteval explicit Orchestration(std::string_view name) : detail::Contract<R, In>{name} {}
};

template <class R>
class Orchestration<R()> final : public detail::Contract<R, Unit> {
 public:
    consteval explicit Orchestration(std::string_view name) : detail::Contract<R, Unit>{name} {}
};

// A message from outside: Client::raise sends it, Context::wait_for receives it. Each wait takes
// one message; a message that comes before its wait is kept.
template <class T = Unit>
class Event final {
    static_assert(detail::check_payload<T>());

 public:
    using Value = T;
    consteval explicit Event(std::string_view name) : name_{name} {}
    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_.text(); }

 private:
    detail::Name name_;
};

// A mailbox: Client::enqueue fills it, Context::dequeue empties it, first in first out. Unread
// messages move on to the next execution with continue_as_new.
template <class T = Unit>
class Queue final {
    static_assert(detail::check_payload<T>());

 public:
    using Value = T;
    consteval explicit Queue(std::string_view name) : name_{name} {}
    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_.text(); }

 private:
    detail::Name name_;
};

} // namespace durable
