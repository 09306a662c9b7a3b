// Finds the values of some kind inside of a value. Not for users.
//
// Looks where owning.hpp looks: at members of structs without constructors and base classes (at
// most 16), into containers, pairs, tuples, optionals and variants. It does not see what a type of
// another kind holds.

#pragma once

#include <durable/detail/owning.hpp>

#include <cstddef>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace durable::detail {

// What any member can be initialised with, and what a base class alone can.
struct AnyMember {
    AnyMember(const AnyMember&) = delete;
    template <class T>
    operator T() &; // NOLINT(google-explicit-constructor): that is what is asked
};
template <class Derived>
struct AnyBase {
    AnyBase(const AnyBase&) = delete;
    template <class T>
        requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived>)
    operator T() &; // NOLINT(google-explicit-constructor)
};

// Whether the struct has `Count` members, or more, that can be initialised with nothing.
template <class T, std::size_t Count>
[[nodiscard]] consteval bool has_members() {
    if constexpr (Count == 1) {
        return requires { T{{}}; };
    }
    if constexpr (Count == 2) {
        return requires { T{{}, {}}; };
    }
    if constexpr (Count == 3) {
        return requires { T{{}, {}, {}}; };
    }
    if constexpr (Count == 4) {
        return requires { T{{}, {}, {}, {}}; };
    }
    if constexpr (Count == 5) {
        return requires { T{{}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 6) {
        return requires { T{{}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 7) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 8) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 9) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 10) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 11) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 12) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 13) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 14) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 15) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 16) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
    if constexpr (Count == 17) {
        return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    }
}

inline constexpr std::size_t unknown = 17;

// Of a struct whose members can be named by a structured binding; `unknown` otherwise.
template <class T, std::size_t Count = 1>
[[nodiscard]] consteval std::size_t member_count() {
    if constexpr (!std::is_aggregate_v<T> || !std::is_class_v<T> || takes<T, AnyBase<T>, 0>()) {
        return unknown;
    } else if constexpr (Count == unknown) {
        return has_members<T, Count>() ? unknown : Count - 1;
    } else if constexpr (has_members<T, Count>()) {
        return member_count<T, Count + 1>();
    } else {
        return takes<T, AnyMember, Count - 1>() ? unknown : Count - 1;
    }
}

// The members of a struct, where they stand; none of one whose count is unknown.
template <class T>
[[nodiscard]] auto members_of(const T& value) {
    constexpr auto count = member_count<T>();
    if constexpr (count == 1) {
        const auto& [a] = value;
        return std::tie(a);
    } else if constexpr (count == 2) {
        const auto& [a, b] = value;
        return std::tie(a, b);
    } else if constexpr (count == 3) {
        const auto& [a, b, c] = value;
        return std::tie(a, b, c);
    } else if constexpr (count == 4) {
        const auto& [a, b, c, d] = value;
        return std::tie(a, b, c, d);
    } else if constexpr (count == 5) {
        const auto& [a, b, c, d, e] = value;
        return std::tie(a, b, c, d, e);
    } else if constexpr (count == 6) {
        const auto& [a, b, c, d, e, f] = value;
        return std::tie(a, b, c, d, e, f);
    } else if constexpr (count == 7) {
        const auto& [a, b, c, d, e, f, g] = value;
        return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (count == 8) {
        const auto& [a, b, c, d, e, f, g, h] = value;
        return std::tie(a, b, c, d, e, f, g, h);
    } else if constexpr (count == 9) {
        const auto& [a, b, c, d, e, f, g, h, i] = value;
        return std::tie(a, b, c, d, e, f, g, h, i);
    } else if constexpr (count == 10) {
        const auto& [a, b, c, d, e, f, g, h, i, j] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (count == 11) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (count == 12) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (count == 13) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (count == 14) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (count == 15) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
    } else if constexpr (count == 16) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    } else {
        return std::tie();
    }
}

// Calls `visit` with every value that What::of says true of and that can be reached.
template <class What, class T, class Visit>
void for_each_held(const T& value, const Visit& visit) {
    const auto deeper = [&](const auto& each) { for_each_held<What>(each, visit); };
    if constexpr (What::template of<T>) {
        visit(value);
    } else if constexpr (!holds<What, T>()) {
        return;
    } else if constexpr (is_choice<T> && requires { value.has_value(); }) {
        if (value.has_value()) {
            deeper(*value);
        }
    } else if constexpr (is_choice<T>) {
        if (!value.valueless_by_exception()) {
            std::visit(deeper, value);
        }
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
        std::apply([&](const auto&... each) { (deeper(each), ...); }, value);
    } else if constexpr (std::ranges::range<const T>) {
        for (const auto& each : value) {
            deeper(each);
        }
    } else {
        std::apply([&](const auto&... each) { (deeper(each), ...); }, members_of(value));
    }
}

} // namespace durable::detail
