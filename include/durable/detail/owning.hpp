// Which types own their data. A payload is read from text that is gone a moment later, perhaps in
// another process: a std::string_view in it would dangle. Users write std::string instead of
// std::string_view and const char*, and std::vector instead of std::span. Not for users.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace durable::detail {

// Types that only refer to memory that another object owns.
template <class T>
inline constexpr bool is_view = std::is_pointer_v<T> || std::is_reference_v<T>;
template <class Char, class Traits>
inline constexpr bool is_view<std::basic_string_view<Char, Traits>> = true;
template <class T, std::size_t N>
inline constexpr bool is_view<std::span<T, N>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;

// How many levels of structs and containers are searched: types may contain themselves.
inline constexpr int view_depth = 4;

// Whether What::of is true for T or for a type that T contains.
template <class What, class T, int Depth = view_depth>
[[nodiscard]] consteval bool holds();

struct IsView {
    template <class T>
    static constexpr bool of = is_view<T>;
};

template <class T>
inline constexpr bool is_choice = false; // its constructor template accepts any type
template <class T>
inline constexpr bool is_choice<std::optional<T>> = true;
template <class... Ts>
inline constexpr bool is_choice<std::variant<Ts...>> = true;

// Members of a struct are found by what they can be initialised with. The probes are lvalues that
// cannot be copied, so that members which take anything (std::any, nlohmann::json) do not.
struct NoProbe {
    NoProbe(const NoProbe&) = delete;
};
template <class What>
struct Probe {
    Probe(const Probe&) = delete;
    template <class T>
        requires(What::template of<T>)
    operator T() &; // NOLINT(google-explicit-constructor): that is what is asked
};
template <class What, int Depth>
struct HolderProbe {
    HolderProbe(const HolderProbe&) = delete;
    template <class T>
        requires(!What::template of<T> && !is_choice<T> && holds<What, T, Depth>())
    operator T() &; // NOLINT(google-explicit-constructor)
};

// Whether the member at `Index` can be initialised with a Probe, those before it with nothing.
template <class T, class Probe, int Index>
[[nodiscard]] consteval bool takes() {
    if constexpr (Index == 0) {
        return requires(Probe& p) { T{p}; };
    }
    if constexpr (Index == 1) {
        return requires(Probe& p) { T{{}, p}; };
    }
    if constexpr (Index == 2) {
        return requires(Probe& p) { T{{}, {}, p}; };
    }
    if constexpr (Index == 3) {
        return requires(Probe& p) { T{{}, {}, {}, p}; };
    }
    if constexpr (Index == 4) {
        return requires(Probe& p) { T{{}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 5) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 6) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 7) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 8) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 9) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 10) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 11) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 12) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 13) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 14) {
        return requires(Probe& p) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, p}; };
    }
    if constexpr (Index == 15) {
        return requires(Probe& p) {
            T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, p};
        };
    }
}

template <class What, class T, int Depth, int... Index>
[[nodiscard]] consteval bool member_holds(std::integer_sequence<int, Index...>) {
    return ((!takes<T, NoProbe, Index>() &&
             (takes<T, Probe<What>, Index>() || takes<T, HolderProbe<What, Depth>, Index>())) ||
            ...);
}

template <class What, class T, int Depth, std::size_t... Index>
[[nodiscard]] consteval bool element_holds(std::index_sequence<Index...>) {
    return (holds<What, std::tuple_element_t<Index, T>, Depth>() || ...);
}

template <class T>
struct ChoiceOf;
template <class T>
struct ChoiceOf<std::optional<T>> {
    using type = std::tuple<T>;
};
template <class... Ts>
struct ChoiceOf<std::variant<Ts...>> {
    using type = std::tuple<Ts...>;
};

template <class What, class T, int Depth>
consteval bool holds() {
    using Bare = std::remove_cv_t<T>;
    if constexpr (What::template of<Bare>) {
        return true;
    } else if constexpr (Depth == 0) {
        return false;
    } else if constexpr (is_choice<Bare>) {
        return holds<What, typename ChoiceOf<Bare>::type, Depth>();
    } else if constexpr (requires { std::tuple_size<Bare>::value; }) {
        return element_holds<What, Bare, Depth - 1>(
            std::make_index_sequence<std::tuple_size_v<Bare>>{});
    } else if constexpr (std::ranges::range<Bare>) {
        return holds<What, std::ranges::range_value_t<Bare>, Depth - 1>();
    } else if constexpr (std::is_aggregate_v<Bare> && std::is_class_v<Bare>) {
        return member_holds<What, Bare, Depth - 1>(std::make_integer_sequence<int, 16>{});
    } else {
        return false;
    }
}

// False for types that refer to memory of others, and for structs and containers of such. In a
// struct with constructors, or with more than 16 members, not all members are found.
template <class T>
concept OwnsItsData = !holds<IsView, T>();

} // namespace durable::detail
