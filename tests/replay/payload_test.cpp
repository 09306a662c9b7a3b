// Payloads: user values as text, and back.

#include <durable/contract.hpp>
#include <durable/kv.hpp>
#include <durable/payload.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace durable {

namespace {

struct Order {
    std::string id;
    int cents = 0;
    bool operator==(const Order&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, cents)

struct Money {
    int cents = 0;
    bool operator==(const Money&) const = default;
};

} // namespace

template <>
struct Codec<Money> {
    static std::string encode(const Money& value) { return std::to_string(value.cents) + "c"; }
    static Money decode(std::string_view text) {
        if (!text.ends_with('c')) {
            throw std::invalid_argument{"no money"};
        }
        return {.cents = Codec<int>::decode(text.substr(0, text.size() - 1))};
    }
};

namespace {

template <class T>
void expect_round_trip(const T& value, std::string_view text) {
    EXPECT_EQ(to_payload(value), text);
    const auto read = from_payload<T>(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, value);
}

TEST(Payload, StringsAreTheirOwnText) {
    expect_round_trip(std::string{"plain"}, "plain");
    expect_round_trip(std::string{"\"quoted\" \n 日本"}, "\"quoted\" \n 日本");
    expect_round_trip(std::string{}, "");
}

TEST(Payload, NumbersAndBooleansAreJson) {
    expect_round_trip(42, "42");
    expect_round_trip(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
    expect_round_trip(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
    expect_round_trip(0.1, "0.1");
    expect_round_trip(1e300, "1e+300");
    expect_round_trip(true, "true");
    expect_round_trip(false, "false");
}

TEST(Payload, StructsAreJsonAndTolerateMissingMembers) {
    expect_round_trip(Order{.id = "o-1", .cents = 5}, R"({"cents":5,"id":"o-1"})");
    EXPECT_EQ(from_payload<Order>(R"({"id":"o-1","new_member":true})"), (Order{.id = "o-1"}));
}

TEST(Payload, ContainersOfPayloadsAreJson) {
    expect_round_trip(std::vector<std::string>{"a", "b"}, R"(["a","b"])");
    expect_round_trip(std::map<std::string, int>{{"a", 1}}, R"({"a":1})");
    expect_round_trip(std::vector<Order>{{.id = "x"}}, R"([{"cents":0,"id":"x"}])");
}

TEST(Payload, OptionalsAreNullOrJson) {
    expect_round_trip(std::optional<std::string>{"null"}, R"("null")");
    expect_round_trip(std::optional<std::string>{}, "null");
    expect_round_trip(std::optional<int>{5}, "5");
}

TEST(Payload, RawJsonPassesThrough) {
    expect_round_trip(RawJson{R"({"any": [1, 2]})"}, R"({"any": [1, 2]})");
    EXPECT_EQ(to_payload(RawJson{}), "null");
}

TEST(Payload, NothingIsNull) {
    EXPECT_EQ(to_payload(Unit{}), "null");
    EXPECT_TRUE(from_payload<Unit>("whatever"));
}

TEST(Payload, ATypeMayBringItsOwnCodec) {
    expect_round_trip(Money{.cents = 250}, "250c");
    EXPECT_EQ(from_payload<Money>("250").error().message, "cannot read the payload: no money");
}

TEST(Payload, TextThatDoesNotFitIsAFailureWithAKind) {
    for (const auto* text : {"", "x", "1x", "1.5", "99999999999999999999"}) {
        const auto value = from_payload<int>(text);
        ASSERT_FALSE(value) << text;
        EXPECT_EQ(value.error().kind, failure_kind::bad_payload);
    }
    EXPECT_FALSE(from_payload<bool>("TRUE"));
    EXPECT_FALSE(from_payload<Order>("{\"id\":"));
    EXPECT_FALSE(from_payload<Order>(R"({"id":5})"));
    EXPECT_FALSE(from_payload<std::vector<int>>("{}"));
}

TEST(Payload, NumbersThatJsonCannotSayAreRefused) {
    EXPECT_THROW(static_cast<void>(to_payload(std::numeric_limits<double>::infinity())),
                 std::invalid_argument);
    EXPECT_THROW(static_cast<void>(to_payload(std::numeric_limits<double>::quiet_NaN())),
                 std::invalid_argument);
}

// nlohmann-json would write null without an error.
TEST(Payload, NumbersThatJsonCannotSayAreRefusedInsideOfValuesToo) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();

    EXPECT_THROW(static_cast<void>(to_payload(std::optional{nan})), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(to_payload(std::vector{1.0, -infinity})), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(
                     to_payload(std::map<std::string, std::vector<float>>{{"a", {std::nanf("")}}})),
                 std::invalid_argument);
    EXPECT_EQ(to_payload(std::vector{1.5, -0.25}), "[1.5,-0.25]");
}

// What nlohmann-json writes for them is another value when it is read back.
TEST(Payload, JsonThatHasNoTextIsRefusedWhereverItIs) {
    const auto binary = nlohmann::json::binary({1, 2});
    const auto discarded = nlohmann::json::parse("{", nullptr, false);
    const auto refusal = [](const auto& value) -> std::string {
        try {
            return to_payload(value);
        } catch (const std::invalid_argument& refused) {
            return refused.what();
        }
    };

    EXPECT_EQ(refusal(binary), "JSON has no text for binary data: write it as base64, for example");
    EXPECT_EQ(refusal(nlohmann::json{{"a", {1, binary}}}), refusal(binary));
    EXPECT_EQ(refusal(discarded), "a nlohmann::json whose parsing failed (discarded) has no text");
    EXPECT_EQ(refusal(std::vector{discarded}), refusal(discarded));
}

TEST(Payload, AValueOfAnotherInstancesKvIsEmptyOrTyped) {
    EXPECT_EQ(from_payload<KvValue<int>>("null")->has_value(), false);
    EXPECT_EQ(**from_payload<KvValue<int>>(R"("12")"), 12);
    EXPECT_EQ(**from_payload<KvValue<std::string>>(R"("a \"quote\"")"), "a \"quote\"");
    EXPECT_FALSE(from_payload<KvValue<int>>(R"("many")"));
}

TEST(Payload, ValuesOfOtherInstancesKvCompareWithEachOtherAndWithAValue) {
    const KvValue<int> none;
    const KvValue<int> twelve{12};

    EXPECT_EQ(twelve, KvValue<int>{12});
    EXPECT_NE(twelve, KvValue<int>{13});
    EXPECT_NE(twelve, none);
    EXPECT_EQ(none, KvValue<int>{});
    EXPECT_EQ(twelve, 12);
    EXPECT_EQ(none, std::nullopt);
    EXPECT_EQ(twelve, std::optional{12});
    EXPECT_EQ(std::optional{12}, twelve);
}

// ---- Who owns the data

struct Name {
    std::string first;
    std::optional<std::string> second;
};
struct Node {
    std::string name;
    std::vector<Node> below;
    std::map<std::string, Node> beside;
};
struct Free {
    std::string name;
    nlohmann::json anything;
    std::variant<int, std::string> either;
    std::vector<Name> names;
};
struct Badge {
    int id = 0;
    std::string_view name;
};
struct Team {
    std::string name;
    std::vector<Badge> badges;
};
struct Signs {
    std::optional<std::string> name;
    const char* sign = "";
};
struct Maybe {
    nlohmann::json anything;
    std::optional<std::string_view> name;
};

TEST(Payload, OwnsItsData) {
    static_assert(detail::OwnsItsData<int>);
    static_assert(detail::OwnsItsData<void>);
    static_assert(detail::OwnsItsData<std::string>);
    static_assert(detail::OwnsItsData<nlohmann::json>);
    static_assert(detail::OwnsItsData<std::map<std::string, std::vector<std::string>>>);
    static_assert(detail::OwnsItsData<Order> && detail::OwnsItsData<Name>);
    static_assert(detail::OwnsItsData<Node> && detail::OwnsItsData<Free>);
    static_assert(Payload<Order> && Payload<Money> && Payload<RawJson> && Payload<nlohmann::json>);
}

TEST(Payload, IsNoViewOfWhatOthersOwn) {
    static_assert(!Payload<std::string_view> && !Payload<const char*> && !Payload<char*>);
    static_assert(!Payload<std::span<const int>>);
    static_assert(!Payload<std::vector<std::string_view>>);
    static_assert(!Payload<std::optional<std::string_view>>);
    static_assert(!Payload<std::pair<std::string, std::string_view>>);
    static_assert(!Payload<std::map<std::string, std::string_view>>);
    static_assert(!Payload<std::map<std::string_view, int>>);
    static_assert(!Payload<std::tuple<int, std::string_view>>);
    static_assert(!Payload<std::array<std::string_view, 2>>);
    static_assert(!Payload<std::vector<std::vector<std::optional<std::string_view>>>>);
}

TEST(Payload, IsNoCharacterButChar) {
    static_assert(!Payload<wchar_t> && !Payload<char8_t>);
    static_assert(!Payload<char16_t> && !Payload<char32_t>);
    expect_round_trip('A', "65");
}

TEST(Payload, IsNoStructWithAView) {
    static_assert(!detail::OwnsItsData<Badge> && !detail::OwnsItsData<Team>);
    static_assert(!detail::OwnsItsData<std::optional<Badge>>);
    static_assert(!detail::OwnsItsData<Signs> && !detail::OwnsItsData<Maybe>);
}

TEST(Names, AreChecked) {
    EXPECT_EQ(detail::name_problem("app::orders.Charge-Card_2"), nullptr);
    EXPECT_NE(detail::name_problem(""), nullptr);
    EXPECT_NE(detail::name_problem(std::string(129, 'x')), nullptr);
    EXPECT_EQ(detail::name_problem(std::string(128, 'x')), nullptr);
    EXPECT_NE(detail::name_problem("with space"), nullptr);
    EXPECT_NE(detail::name_problem("__reserved"), nullptr);
    EXPECT_NE(detail::name_problem("umlaut-ä"), nullptr);
}

} // namespace

} // namespace durable
