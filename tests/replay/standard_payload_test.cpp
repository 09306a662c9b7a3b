// Types of the standard library as payloads and as members of payloads.

#include <durable/contract.hpp>
#include <durable/payload.hpp>
#include <durable/time.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace parcel {

enum class Mode { fast, exact };

struct Place {
    std::string town;
    bool operator==(const Place&) const = default;
};
DURABLE_PAYLOAD(Place, town)

struct Parcel {
    std::optional<std::string> hint;
    std::optional<Place> place;
    std::variant<int, std::string, Place> key;
    std::chrono::milliseconds budget{100};
    std::chrono::sys_seconds asked;
    std::map<Mode, std::vector<std::optional<int>>> weights;
    std::pair<std::monostate, durable::Instant> last;
    bool operator==(const Parcel&) const = default;
};

} // namespace parcel

// Both macros of nlohmann-json reach members by other functions than ours does.
namespace with_default {
struct Parcel : parcel::Parcel {
    bool operator==(const Parcel&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    Parcel, hint, place, key, budget, asked, weights, last)
} // namespace with_default
namespace strict {
struct Parcel : parcel::Parcel {
    bool operator==(const Parcel&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, hint, place, key, budget, asked, weights, last)
} // namespace strict
namespace ours {
struct Parcel : parcel::Parcel {
    bool operator==(const Parcel&) const = default;
};
DURABLE_PAYLOAD(Parcel, hint, place, key, budget, asked, weights, last)
} // namespace ours

// A type that holds itself: each of its two functions needs the other.
namespace tree {
struct Node {
    int name = 0;
    std::optional<std::vector<Node>> below;
    bool operator==(const Node&) const = default;
};
DURABLE_PAYLOAD(Node, name, below)
} // namespace tree

// A user's own conversions stay what they are.
namespace taste {
struct Coin {
    int cents = 0;
    bool operator==(const Coin&) const = default;
};
DURABLE_PAYLOAD(Coin, cents)
inline void to_json(nlohmann::json& json, const std::optional<Coin>& coin) {
    json = coin ? coin->cents : -1;
}
inline void from_json(const nlohmann::json& json, std::optional<Coin>& coin) {
    const auto cents = json.get<int>();
    coin = cents < 0 ? std::nullopt : std::optional<Coin>{Coin{cents}};
}
struct Purse {
    std::optional<Coin> coin;
    std::optional<std::int8_t> small;
    std::chrono::duration<int, std::ratio<7>> sevens{};
    std::chrono::duration<int, std::ratio<9>> nines{};
    bool operator==(const Purse&) const = default;
};
template <class T>
inline constexpr bool is_nines = false;
template <>
inline constexpr bool is_nines<std::chrono::duration<int, std::ratio<9>>> = true;
} // namespace taste

template <>
inline constexpr bool durable::standard_json<std::chrono::duration<int, std::ratio<9>>> = false;

template <>
struct nlohmann::adl_serializer<std::optional<std::int8_t>> {
    static void to_json(json& json, const std::optional<std::int8_t>& value) {
        json = value ? json::array({*value}) : json::array();
    }
    static void from_json(const json& json, std::optional<std::int8_t>& value) {
        value = json.empty() ? std::nullopt : std::optional{json[0].get<std::int8_t>()};
    }
};
template <class Rep>
struct nlohmann::adl_serializer<std::chrono::duration<Rep, std::ratio<7>>> {
    using Value = std::chrono::duration<Rep, std::ratio<7>>;
    static void to_json(json& json, const Value& value) { json = value.count(); }
    static void from_json(const json& json, Value& value) { value = Value{json.get<Rep>()}; }
};
template <class T>
struct nlohmann::adl_serializer<T, std::enable_if_t<taste::is_nines<T>>> {
    static void to_json(json& json, const T& value) { json = value.count(); }
    static void from_json(const json& json, T& value) { value = T{json.get<int>()}; }
};

namespace taste {
DURABLE_PAYLOAD(Purse, coin, small, sevens, nines)
} // namespace taste

namespace evolution {
struct Before {
    std::string name;
    int wait_ms = 0;
    std::chrono::seconds grace{};
};
DURABLE_PAYLOAD(Before, name, wait_ms, grace)
struct After {
    std::optional<std::string> name;
    std::chrono::milliseconds wait_ms{};
    std::chrono::milliseconds grace{};
    std::optional<int> added;
    std::variant<std::monostate, int> choice;
    bool operator==(const After&) const = default;
};
DURABLE_PAYLOAD(After, name, wait_ms, grace, added, choice)
struct Nothing {
    bool operator==(const Nothing&) const = default;
};
DURABLE_PAYLOAD(Nothing)
} // namespace evolution

namespace durable {

namespace {

template <class T>
void expect_round_trip(const T& value, std::string_view text) {
    EXPECT_EQ(to_payload(value), text);
    const auto read = from_payload<T>(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(*read, value);
}

template <class T>
[[nodiscard]] std::string problem(std::string_view text) {
    const auto read = from_payload<T>(text);
    return read ? "none" : read.error().message;
}

template <class T>
[[nodiscard]] T full_parcel() {
    T parcel;
    parcel.hint = "glass";
    parcel.place = parcel::Place{"Ulm"};
    parcel.key = "k";
    parcel.asked = std::chrono::sys_seconds{1s};
    parcel.weights = {{parcel::Mode::exact, {1, std::nullopt}}};
    parcel.last.second = Instant{1500ms};
    return parcel;
}

constexpr std::string_view full_text =
    R"({"asked":"1970-01-01T00:00:01Z","budget":"100ms","hint":"glass",)"
    R"("key":{"index":1,"value":"k"},"last":[null,"1970-01-01T00:00:01.500Z"],)"
    R"("place":{"town":"Ulm"},"weights":[[1,[1,null]]]})";

TEST(StandardPayload, MembersWorkWithEveryMacro) {
    expect_round_trip(full_parcel<ours::Parcel>(), full_text);
    expect_round_trip(full_parcel<with_default::Parcel>(), full_text);
    expect_round_trip(full_parcel<strict::Parcel>(), full_text);
}

TEST(StandardPayload, ContractsTakeThemAsTheyAre) {
    constexpr Activity<std::optional<std::chrono::seconds>(std::variant<int, std::string>)> plain{
        "Plain"};
    constexpr Activity<std::vector<ours::Parcel>(std::chrono::sys_days)> nested{"Nested"};
    EXPECT_EQ(plain.name().size() + nested.name().size(), 11U);
}

TEST(StandardPayload, OptionalsAreNullOrTheValue) {
    expect_round_trip(std::optional<parcel::Place>{}, "null");
    expect_round_trip(std::optional{parcel::Place{"Ulm"}}, R"({"town":"Ulm"})");
    expect_round_trip(std::vector<std::optional<int>>{1, std::nullopt}, "[1,null]");
    expect_round_trip(tree::Node{.name = 1, .below = std::vector{tree::Node{.name = 2}}},
                      R"({"below":[{"below":null,"name":2}],"name":1})");
}

TEST(StandardPayload, AnOptionalOfWhatMayBeNullIsRefused) {
    static_assert(!Payload<std::optional<std::optional<int>>>);
    static_assert(!Payload<std::optional<Unit>>);
    static_assert(!Payload<std::vector<std::optional<std::optional<int>>>>);
    EXPECT_THROW(static_cast<void>(to_payload(std::vector{std::optional<nlohmann::json>{nullptr}})),
                 std::invalid_argument);
}

TEST(StandardPayload, VariantsSayWhichAlternativeTheyHold) {
    using Either = std::variant<int, std::string, int, std::monostate>;
    expect_round_trip(Either{std::in_place_index<0>, 5}, R"({"index":0,"value":5})");
    expect_round_trip(Either{"5"}, R"({"index":1,"value":"5"})");
    expect_round_trip(Either{std::in_place_index<2>, 5}, R"({"index":2,"value":5})");
    expect_round_trip(Either{std::monostate{}}, R"({"index":3,"value":null})");

    using Two = std::variant<int, std::string>;
    EXPECT_EQ(problem<Two>(R"({"index":2,"value":5})"),
              "cannot read the payload: a variant of 2 alternatives has none with the index 2");
    EXPECT_NE(problem<Two>(R"({"index":-1,"value":5})"), "none");
    EXPECT_NE(problem<Two>(R"({"index":1,"value":5})"), "none");
    EXPECT_NE(problem<Two>("5"), "none");
}

TEST(StandardPayload, DurationsCarryTheirUnit) {
    expect_round_trip(1500ms, R"("1500ms")");
    expect_round_trip(-3ns, R"("-3ns")");
    expect_round_trip(4us, R"("4us")");
    expect_round_trip(7min, R"("7min")");
    expect_round_trip(2h, R"("2h")");
    expect_round_trip(std::chrono::days{3}, R"("3d")");
    expect_round_trip(std::chrono::weeks{2}, R"("2[604800]s")");
    expect_round_trip(std::chrono::duration<int, std::ratio<1, 30>>{5}, R"("5[1/30]s")");
    expect_round_trip(std::chrono::duration<double>{0.1}, R"("0.1s")");
    expect_round_trip(Duration::max(), R"("9223372036854775807ms")");
    expect_round_trip(Duration::min(), R"("-9223372036854775808ms")");
}

TEST(StandardPayload, DurationsAreReadFromOtherUnitsWhenTheyAreExact) {
    EXPECT_EQ(from_payload<std::chrono::milliseconds>(R"("2s")"), 2000ms);
    EXPECT_EQ(from_payload<std::chrono::seconds>(R"("2000ms")"), 2s);
    EXPECT_EQ(from_payload<std::chrono::hours>(R"("1[604800]s")"), 168h);
    EXPECT_EQ(from_payload<std::chrono::duration<double>>(R"("1500ms")"),
              std::chrono::duration<double>{1.5});
    EXPECT_EQ(from_payload<std::chrono::milliseconds>("250"), 250ms);
    EXPECT_EQ(from_payload<std::chrono::duration<double>>("0.5"),
              std::chrono::duration<double>{0.5});

    EXPECT_EQ(problem<std::chrono::seconds>(R"("1500ms")"),
              "cannot read the payload: expected a duration that is a whole number of s, in range, "
              "found '1500ms'");
    EXPECT_EQ(problem<std::chrono::seconds>(R"("soon")"),
              "cannot read the payload: expected a duration like 1500ms, found 'soon'");
    for (const auto* text : {R"("")",
                             R"("5")",
                             R"("s")",
                             R"("5 s")",
                             R"("5x")",
                             R"("1.5s")",
                             R"("5[0]s")",
                             R"("5[1/0]s")",
                             R"("5[-1]s")",
                             R"("5[1]")",
                             "1.5",
                             "null",
                             "{}",
                             "18446744073709551615",
                             R"("99999999999999999999s")",
                             R"("9223372036854775807h")"}) {
        EXPECT_NE(problem<std::chrono::seconds>(text), "none") << text;
    }
    using Narrow = std::chrono::duration<std::int8_t>;
    EXPECT_NE(problem<Narrow>(R"("128s")"), "none");
    EXPECT_EQ(from_payload<Narrow>(R"("-128s")")->count(), -128);
}

TEST(StandardPayload, DurationsThatHaveNoTextAreRefused) {
    const std::chrono::duration<double> endless{std::numeric_limits<double>::infinity()};
    EXPECT_THROW(static_cast<void>(to_payload(endless)), std::invalid_argument);
    const std::chrono::duration<std::uint64_t> long_one{std::numeric_limits<std::uint64_t>::max()};
    EXPECT_THROW(static_cast<void>(to_payload(long_one)), std::invalid_argument);
}

TEST(StandardPayload, MomentsAreTextInUtc) {
    using namespace std::chrono;
    const sys_days day = year{2024} / February / 29;
    expect_round_trip(day, R"("2024-02-29T00:00:00Z")");
    expect_round_trip(sys_seconds{day + 23h + 59min + 59s}, R"("2024-02-29T23:59:59Z")");
    expect_round_trip(Instant{day + 250ms}, R"("2024-02-29T00:00:00.250Z")");
    expect_round_trip(sys_time<nanoseconds>{-1ns}, R"("1969-12-31T23:59:59.999999999Z")");
    expect_round_trip(sys_time<hours>{day + 5h}, R"("2024-02-29T05:00:00Z")");
    expect_round_trip(sys_days{year{1} / January / 1}, R"("0001-01-01T00:00:00Z")");
    expect_round_trip(sys_days{year{-1} / March / 1}, R"("-0001-03-01T00:00:00Z")");
    expect_round_trip(Instant::max(), R"("+292278994-08-17T07:12:55.807Z")");
    expect_round_trip(Instant::min(), R"("-292275055-05-16T16:47:04.192Z")");
    for (auto each = sys_days{year{1899} / December / 1}; each < year{2101} / March / 1;
         each += days{13}) {
        EXPECT_EQ(from_payload<sys_days>(to_payload(each)), each);
    }
}

TEST(StandardPayload, MomentsAreReadWhenTheyAreExact) {
    using namespace std::chrono;
    EXPECT_EQ(from_payload<Instant>(R"("1970-01-01T00:00:01.5Z")"), Instant{1500ms});
    EXPECT_EQ(from_payload<Instant>(R"("1970-01-01T00:00:01.500000000000Z")"), Instant{1500ms});
    EXPECT_EQ(from_payload<Instant>("1500"), Instant{1500ms});
    EXPECT_EQ(problem<sys_seconds>(R"("1970-01-01T00:00:01.5Z")"),
              "cannot read the payload: expected a moment that is a whole number of s, in range, "
              "found '1970-01-01T00:00:01.5Z'");
    EXPECT_EQ(problem<sys_seconds>(R"("tomorrow")"),
              "cannot read the payload: expected a moment like 2026-01-31T12:00:00Z, found "
              "'tomorrow'");
    for (const auto* text : {"2023-02-29T00:00:00Z",
                             "2024-13-01T00:00:00Z",
                             "2024-00-01T00:00:00Z",
                             "2024-01-00T00:00:00Z",
                             "2024-01-01T24:00:00Z",
                             "2024-01-01T00:60:00Z",
                             "2024-01-01T00:00:60Z",
                             "2024-01-01T00:00:00",
                             "2024-01-01T00:00:00.Z",
                             "2024-01-01T00:00:00+01:00",
                             "24-01-01T00:00:00Z",
                             "+-24-01-01T00:00:00Z",
                             "2024-1-01T00:00:00Z",
                             "2024-01-01 00:00:00Z",
                             "+9999999999999-01-01T00:00:00Z",
                             "2024-01-01T00:00:00.0000000000000000001Z",
                             ""}) {
        EXPECT_NE(problem<sys_seconds>("\"" + std::string{text} + "\""), "none") << text;
    }
    EXPECT_NE(problem<sys_time<nanoseconds>>(R"("2500-01-01T00:00:00Z")"), "none");
}

// Another process's steady clock began at another moment.
TEST(StandardPayload, MomentsOfOtherClocksAreNone) {
    static_assert(!Payload<SteadyInstant>);
    static_assert(!Payload<std::chrono::steady_clock::time_point>);
    static_assert(!Payload<std::optional<std::chrono::steady_clock::time_point>>);
    static_assert(Payload<std::chrono::system_clock::time_point>);
}

TEST(StandardPayload, AUsersOwnConversionIsPreferred) {
    const taste::Purse purse{.coin = taste::Coin{5},
                             .small = std::int8_t{3},
                             .sevens = std::chrono::duration<int, std::ratio<7>>{2},
                             .nines = std::chrono::duration<int, std::ratio<9>>{4}};
    expect_round_trip(purse, R"({"coin":5,"nines":4,"sevens":2,"small":[3]})");
}

TEST(StandardPayload, FieldsMayBecomeOptionalAndDurationsAndChangeTheirUnit) {
    const evolution::Before before{.name = "n", .wait_ms = 250, .grace = 5s};
    const evolution::After after{.name = "n", .wait_ms = 250ms, .grace = 5s, .choice = {}};
    EXPECT_EQ(from_payload<evolution::After>(to_payload(before)), after);
    EXPECT_EQ(from_payload<evolution::After>("{}"), evolution::After{});
    EXPECT_EQ(from_payload<evolution::After>(R"({"name":null,"later":1})"), evolution::After{});
}

TEST(StandardPayload, AStructIsAnObjectAlsoWithoutMembers) {
    expect_round_trip(evolution::Nothing{}, "{}");
    EXPECT_EQ(problem<evolution::Nothing>("null"),
              "cannot read the payload: expected a JSON object, found null");
}

} // namespace

} // namespace durable
