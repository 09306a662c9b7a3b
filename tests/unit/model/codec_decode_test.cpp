#include <durable/codec.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace durable {

namespace {

using namespace std::string_literals;

const std::string common = R"("event_id":1,"source_event_id":null,"instance_id":"i",)"
                           R"("execution_id":1,"timestamp_ms":5,"duroxide_version":"0.1.0")";

// An event with the given members after the common ones.
HistoryEvent event_with(const std::string& members) {
    return decode_event("{" + common + "," + members + "}").value();
}

template <class Kind>
Kind kind_with(const std::string& members) {
    return std::get<Kind>(event_with(members).kind);
}

template <class Item>
Item item_from(std::string_view text) {
    return std::get<Item>(decode_work_item(text).value());
}

std::string decoded_output(std::string_view on_the_wire) {
    return kind_with<history::OrchestrationCompleted>(
               R"("type":"OrchestrationCompleted","output":")" + std::string{on_the_wire} + '"')
        .output;
}

TEST(Decode, FillsEveryMemberOfAnEvent) {
    const auto event = decode_event(
        R"({"event_id":3,"source_event_id":2,"instance_id":"order-1","execution_id":4,)"
        R"("timestamp_ms":1760000000000,"duroxide_version":"0.1.26","type":"ActivityCompleted",)"
        R"("result":"ok","location":"order.cpp:42"})");

    HistoryEvent expected;
    expected.event_id = 3;
    expected.source_event_id = 2;
    expected.instance_id = "order-1";
    expected.execution_id = 4;
    expected.timestamp_ms = 1760000000000;
    expected.engine_version = "0.1.26";
    expected.kind = history::ActivityCompleted{.result = "ok"};
    expected.location = "order.cpp:42";
    EXPECT_EQ(event.value(), expected);
}

TEST(Decode, KnowsTheMembersThatOnlyThisEngineWrites) {
    const auto started = kind_with<history::OrchestrationStarted>(
        R"("type":"OrchestrationStarted","name":"n","version":"1.0.0","input":"",)"
        R"("carry_forward_order":"qe","rules":1)");
    EXPECT_EQ(started.carry_forward_order, "qe");
    EXPECT_EQ(started.rules, 1u);
    EXPECT_EQ(kind_with<history::SubOrchestrationScheduled>(
                  R"("type":"SubOrchestrationScheduled","name":"n","instance":"i","input":"",)"
                  R"("when_dropped":"abandon")")
                  .when_dropped,
              "abandon");
    EXPECT_EQ(kind_with<history::OrchestrationFailed>(
                  R"("type":"OrchestrationFailed","ended_by":"runtime","details":{"Application":)"
                  R"({"kind":"Panicked","message":"","retryable":false}})")
                  .ended_by,
              "runtime");
    EXPECT_EQ(item_from<work::ContinueAsNew>(
                  R"({"ContinueAsNew":{"instance":"i","orchestration":"o","input":"",)"
                  R"("carry_forward_order":"eq"}})")
                  .carry_forward_order,
              "eq");
}

TEST(Decode, AcceptsMembersInAnyOrderEvenTheTypeLast) {
    const auto event = decode_event(
        R"({"input":"in","later":{"type":"no"},"tag":"gpu","duroxide_version":"0.1.0","name":"n",)"
        R"("timestamp_ms":5,"execution_id":1,"location":"a:1","instance_id":"i","event_id":1,)"
        R"("type":"ActivityScheduled","session_id":"s"})");

    HistoryEvent expected =
        event_with(R"("type":"ActivityScheduled","name":"n","input":"in","session_id":"s",)"
                   R"("tag":"gpu","location":"a:1")");
    expected.extra = R"("later":{"type":"no"})";
    EXPECT_EQ(event.value(), expected);
}

TEST(Decode, AcceptsWhiteSpaceAnywhereBetweenTokens) {
    const auto item = item_from<work::ContinueAsNew>(
        " \r\n\t{ \"ContinueAsNew\" :\n{\"instance\" : \"i\" , \"orchestration\":\"o\",\"input\":"
        "\"\",\"version\" : null,\"carry_forward_events\": [ [ \"a\" , \"b\" ] , "
        "[\"c\",\"d\"]\n]}}\n ");

    EXPECT_EQ(item,
              (work::ContinueAsNew{.instance = "i",
                                   .orchestration = "o",
                                   .carry_forward_events = {{.name = "a", .data = "b"},
                                                            {.name = "c", .data = "d"}}}));
}

TEST(Decode, UnderstandsEveryEscape) {
    EXPECT_EQ(decoded_output(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(decoded_output(R"(\u0041\u00e9\u20AC\ud83d\ude00)"), "Aé€😀");
    EXPECT_EQ(decoded_output(R"(a\u0000b)"), "a\0b"s);
    EXPECT_EQ(decoded_output(R"(\udbff\udfff\uffff)"), "\U0010ffff\uffff");
}

TEST(Decode, UnderstandsEscapesInNames) {
    EXPECT_EQ(
        kind_with<history::KeyValueCleared>(R"("t\u0079pe":"Key\u0056alueCleared","k\u0065y":"x")")
            .key,
        "x");
    EXPECT_EQ(item_from<work::CancelInstance>(
                  R"({"\u0043ancelInstance":{"instance":"i","reas\u006fn":"r"}})")
                  .reason,
              "r");
}

// Every code point there is, written by us and read by nlohmann-json, and the reverse.
TEST(Decode, EveryCharacterSurvives) {
    std::u32string all;
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        if (code < 0xD800 || code > 0xDFFF) {
            all.push_back(code);
        }
    }
    std::string text;
    for (const char32_t code : all) {
        const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
        if (code < 0x80) {
            put(code);
        } else if (code < 0x800) {
            put(0xC0 | (code >> 6));
            put(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            put(0xE0 | (code >> 12));
            put(0x80 | ((code >> 6) & 0x3F));
            put(0x80 | (code & 0x3F));
        } else {
            put(0xF0 | (code >> 18));
            put(0x80 | ((code >> 12) & 0x3F));
            put(0x80 | ((code >> 6) & 0x3F));
            put(0x80 | (code & 0x3F));
        }
    }
    const WorkItem item = work::CancelInstance{.instance = "i", .reason = text};

    const std::string ours = encode(item).value();
    const auto theirs = nlohmann::json::parse(ours);
    const std::string escaped = theirs.dump(-1, ' ', true); // everything as \uXXXX

    EXPECT_TRUE(theirs["CancelInstance"]["reason"] == text);
    EXPECT_TRUE(decode_work_item(ours).value() == item);
    EXPECT_TRUE(decode_work_item(escaped).value() == item);
}

TEST(Decode, ReadsTheWholeRangeOfNumbers) {
    EXPECT_EQ(kind_with<history::TimerCreated>(
                  R"("type":"TimerCreated","fire_at_ms":18446744073709551615)")
                  .fire_at_ms,
              UINT64_MAX);
    EXPECT_EQ(
        kind_with<history::TimerCreated>(R"("type":"TimerCreated","fire_at_ms":0)").fire_at_ms, 0U);
    const auto poison = decode_error_details(
        R"({"Poison":{"attempt_count":4294967295,"max_attempts":0,"message_type":)"
        R"({"Orchestration":{"instance":"i","execution_id":1}},"message":""}})");
    EXPECT_EQ(std::get<details::Poison>(*poison).attempt_count, UINT32_MAX);
}

TEST(Decode, MissingAndNullMeanTheSameWhereNullIsWritten) {
    const std::string start =
        R"("type":"OrchestrationStarted","name":"n","version":"1","input":"")";

    const auto missing = kind_with<history::OrchestrationStarted>(start);
    const auto null = kind_with<history::OrchestrationStarted>(
        start + R"(,"parent_instance":null,"parent_id":null,"carry_forward_events":null,)"
                R"("initial_custom_status":null,"parent_execution_id":null)");

    EXPECT_EQ(missing, null);
    EXPECT_EQ(missing.parent_instance, std::nullopt);
    EXPECT_EQ(missing.carry_forward_events, std::nullopt);
}

TEST(Decode, EmptyIsNotAbsent) {
    const auto started = kind_with<history::OrchestrationStarted>(
        R"("type":"OrchestrationStarted","name":"n","version":"1","input":"",)"
        R"("parent_instance":"","carry_forward_events":[],"initial_custom_status":"")");

    EXPECT_EQ(started.parent_instance, "");
    EXPECT_EQ(started.carry_forward_events, std::vector<CarriedMessage>{});
    EXPECT_EQ(started.initial_custom_status, "");
}

TEST(Decode, AMissingSourceEventIsNone) {
    const auto event =
        decode_event(R"({"event_id":1,"instance_id":"","execution_id":0,"timestamp_ms":0,)"
                     R"("duroxide_version":"","type":"KeyValuesCleared"})");

    EXPECT_EQ(event.value().source_event_id, std::nullopt);
}

TEST(Decode, AMissingStatusIsNone) {
    EXPECT_EQ(kind_with<history::CustomStatusUpdated>(R"("type":"CustomStatusUpdated")").status,
              std::nullopt);
}

TEST(Decode, AMissingUpdateTimeIsZeroAndIsAlwaysWritten) {
    const HistoryEvent event = event_with(R"("type":"KeyValueSet","key":"k","value":"v")");

    EXPECT_EQ(std::get<history::KeyValueSet>(event.kind).last_updated_at_ms, 0U);
    EXPECT_TRUE(encode(event).value().ends_with(R"("value":"v","last_updated_at_ms":0})"));
}

TEST(Decode, MissingMessagesToCarryForwardAreNoneAndAreAlwaysWritten) {
    const auto item = decode_work_item(
        R"({"ContinueAsNew":{"instance":"i","orchestration":"o","input":"","version":null}})");

    EXPECT_TRUE(std::get<work::ContinueAsNew>(*item).carry_forward_events.empty());
    EXPECT_EQ(encode(*item).value(),
              R"({"ContinueAsNew":{"instance":"i","orchestration":"o","input":"","version":null,)"
              R"("carry_forward_events":[]}})");
}

TEST(Decode, NullOrEmptyWhereEmptyIsLeftOutMeansEmpty) {
    const std::string scheduled = R"("type":"ActivityScheduled","name":"n","input":"")";

    EXPECT_EQ(event_with(scheduled + R"(,"location":null)"), event_with(scheduled));
    EXPECT_EQ(event_with(scheduled + R"(,"location":"")"), event_with(scheduled));
}

TEST(Decode, AMessageThatIsNullDiffersFromAnEmptyOne) {
    const auto message_of = [](std::string_view message) {
        const auto error =
            decode_error_details(R"({"Configuration":{"kind":"Nondeterminism","resource":"r")" +
                                 std::string{message} + "}}");
        return std::get<details::Configuration>(error.value()).has_message;
    };

    EXPECT_FALSE(message_of(""));
    EXPECT_FALSE(message_of(R"(,"message":null)"));
    EXPECT_TRUE(message_of(R"(,"message":"")"));
}

} // namespace

} // namespace durable
