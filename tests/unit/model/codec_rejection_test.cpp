// Everything that is not the wire format is refused as `corrupt`, with the place and the reason.

#include <durable/codec.hpp>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace durable {

namespace {

using namespace std::string_literals;

template <class Value>
std::string refusal(const Result<Value>& decoded) {
    if (decoded) {
        return "decoded";
    }
    EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
    return decoded.error().message;
}

std::string event_refusal(std::string_view text) {
    return refusal(decode_event(text));
}
std::string item_refusal(std::string_view text) {
    return refusal(decode_work_item(text));
}
std::string error_refusal(std::string_view text) {
    return refusal(decode_error_details(text));
}

// The value of "reason" stands at byte 43.
std::string cancel_with_reason(std::string_view value) {
    return R"({"CancelInstance":{"instance":"i","reason":)" + std::string{value} + "}}";
}

std::string reason_refusal(std::string_view value) {
    return item_refusal(cancel_with_reason(value));
}

// A member unknown to this version; its value stands at byte 54.
std::string unknown_value_refusal(std::string_view value) {
    return item_refusal(R"({"CancelInstance":{"instance":"i","reason":"","later":)" +
                        std::string{value} + "}}");
}

// The value of "fire_at_ms" stands at byte 67.
std::string number_refusal(std::string_view value) {
    return item_refusal(R"({"TimerFired":{"instance":"i","execution_id":1,"id":5,"fire_at_ms":)" +
                        std::string{value} + "}}");
}

TEST(Rejection, SaysWhichCallFailed) {
    EXPECT_EQ(decode_event("").error().operation, "decode_event");
    EXPECT_EQ(decode_work_item("").error().operation, "decode_work_item");
    EXPECT_EQ(decode_error_details("").error().operation, "decode_error_details");
}

TEST(Rejection, OfTextThatIsNoObject) {
    EXPECT_EQ(event_refusal(""), "byte 0: expected an object, found the end of the text");
    EXPECT_EQ(event_refusal("  "), "byte 2: expected an object, found the end of the text");
    EXPECT_EQ(event_refusal("[]"), "byte 0: expected an object, found an array");
    EXPECT_EQ(event_refusal("null"), "byte 0: expected an object, found null");
    EXPECT_EQ(event_refusal("\xEF\xBB\xBF{}"), "byte 0: expected an object, found no value");
    EXPECT_EQ(event_refusal("\0"s), "byte 0: expected an object, found no value");
    EXPECT_EQ(item_refusal("7"), "byte 0: expected an object, found a number");
    EXPECT_EQ(error_refusal("\"Application\""), "byte 0: expected an object, found a string");
}

TEST(Rejection, OfTextAfterTheValue) {
    EXPECT_EQ(item_refusal(cancel_with_reason("\"\"") + "x"),
              "byte 47: unexpected text after the value");
    EXPECT_EQ(item_refusal(cancel_with_reason("\"\"") + " {}"),
              "byte 48: unexpected text after the value");
    EXPECT_EQ(item_refusal(cancel_with_reason("\"\"") + "\0"s),
              "byte 47: unexpected text after the value");
}

TEST(Rejection, OfUnknownKinds) {
    const std::string common = R"({"event_id":1,"source_event_id":null,"instance_id":"i",)"
                               R"("execution_id":1,"timestamp_ms":5,"duroxide_version":"0.1.0",)";

    EXPECT_EQ(event_refusal(common + R"("type":"ExternalSubscribed2","name":"n","topic":"t"})"),
              "byte 123: unknown event type \"ExternalSubscribed2\"");
    EXPECT_EQ(event_refusal(common + R"("name":"n","type":"ExternalSubscribed2"})"),
              "byte 134: unknown event type \"ExternalSubscribed2\"");
    EXPECT_EQ(event_refusal(common + R"("type":""})"), "byte 123: unknown event type \"\"");
    EXPECT_EQ(event_refusal(common + R"("type":")" + std::string(1000, 'x') + "\"}"),
              "byte 123: unknown event type with a long name");
    EXPECT_EQ(item_refusal(R"({"ExternalRaised2":{}})"),
              "byte 1: unknown work item \"ExternalRaised2\"");
    EXPECT_EQ(error_refusal(R"({"Other":{}})"), "byte 1: unknown error \"Other\"");
    EXPECT_EQ(error_refusal(R"({"Configuration":{"kind":"Other","resource":"","message":null}})"),
              "byte 25: unknown configuration error \"Other\"");
    EXPECT_EQ(
        error_refusal(R"({"Application":{"kind":"Cancelled","message":"","retryable":true}})"),
        "byte 23: unknown application error \"Cancelled\"");
    EXPECT_EQ(error_refusal(R"({"Application":{"kind":{"Panicked":{}},"message":""}})"),
              "byte 24: unknown application error \"Panicked\"");
    EXPECT_EQ(error_refusal(R"({"Poison":{"message_type":{"Other":{}}}})"),
              "byte 27: unknown poison message type \"Other\"");
}

TEST(Rejection, OfMissingMembers) {
    EXPECT_EQ(event_refusal("{}"), "byte 2: missing member \"event_id\"");
    EXPECT_EQ(event_refusal(R"({"event_id":1,"source_event_id":null,"instance_id":"i",)"
                            R"("execution_id":1,"timestamp_ms":5,"duroxide_version":"0.1.0"})"),
              "byte 116: missing member \"type\"");
    EXPECT_EQ(event_refusal(R"({"name":"n","event_id":1})"), "byte 25: missing member \"type\"");
    EXPECT_EQ(event_refusal(R"({"event_id":1,"source_event_id":null,"instance_id":"i",)"
                            R"("execution_id":1,"timestamp_ms":5,"duroxide_version":"0.1.0",)"
                            R"("type":"ExternalEvent","name":"n"})"),
              "byte 150: missing member \"data\"");
    EXPECT_EQ(item_refusal(R"({"CancelInstance":{"instance":"i"}})"),
              "byte 34: missing member \"reason\"");
    EXPECT_EQ(error_refusal(R"({"Application":{"kind":{"Cancelled":{}}}})"),
              "byte 38: missing member \"reason\"");
}

TEST(Rejection, OfRepeatedMembers) {
    EXPECT_EQ(item_refusal(R"({"CancelInstance":{"instance":"i","reason":"","reason":""}})"),
              "byte 46: repeated member \"reason\"");
    EXPECT_EQ(event_refusal(R"({"type":"TimerFired","type":"TimerFired"})"),
              "byte 21: repeated member \"type\"");
    EXPECT_EQ(event_refusal(R"({"event_id":1,"event_id":1})"),
              "byte 14: repeated member \"event_id\"");
    EXPECT_EQ(event_refusal(R"({"location":"a","location":"a"})"),
              "byte 16: repeated member \"location\"");
    EXPECT_EQ(event_refusal(R"({"type":"ExternalEvent","name":"n","data":"","name":"n"})"),
              "byte 45: repeated member \"name\"");
}

TEST(Rejection, OfTagsThatAreNotAlone) {
    EXPECT_EQ(item_refusal("{}"), "byte 0: expected an object with exactly one member");
    EXPECT_EQ(item_refusal(R"( {"CancelInstance":{"instance":"i","reason":""},"x":1})"),
              "byte 1: expected an object with exactly one member");
    EXPECT_EQ(error_refusal(R"({"Application":{"kind":{},"message":""}})"),
              "byte 23: expected an object with exactly one member");
}

TEST(Rejection, OfTheWrongType) {
    EXPECT_EQ(reason_refusal("null"), "byte 43: expected a string, found null");
    EXPECT_EQ(reason_refusal("1"), "byte 43: expected a string, found a number");
    EXPECT_EQ(reason_refusal("-1"), "byte 43: expected a string, found a number");
    EXPECT_EQ(reason_refusal("true"), "byte 43: expected a string, found a boolean");
    EXPECT_EQ(reason_refusal("{}"), "byte 43: expected a string, found an object");
    EXPECT_EQ(reason_refusal("[]"), "byte 43: expected a string, found an array");
    EXPECT_EQ(reason_refusal("x"), "byte 43: expected a string, found no value");
    EXPECT_EQ(number_refusal("\"1\""), "byte 67: expected a number, found a string");
    EXPECT_EQ(number_refusal("null"), "byte 67: expected a number, found null");
    EXPECT_EQ(item_refusal(R"({"CancelInstance":null})"),
              "byte 18: expected an object, found null");
    EXPECT_EQ(error_refusal(R"({"Infrastructure":{"operation":"","message":"","retryable":0}})"),
              "byte 59: expected a boolean, found a number");
    EXPECT_EQ(error_refusal(R"({"Infrastructure":{"operation":"","message":"","retryable":trux}})"),
              "byte 59: expected a boolean, found no value");
}

TEST(Rejection, OfMessagesToCarryForwardThatAreNoPairs) {
    const auto carried = [](std::string_view value) {
        return item_refusal(
            R"({"ContinueAsNew":{"instance":"i","orchestration":"o","input":"","version":null,)"
            R"("carry_forward_events":)" +
            std::string{value} + "}}");
    };

    EXPECT_EQ(carried("[]"), "decoded");
    EXPECT_EQ(carried("null"), "byte 102: expected an array, found null");
    EXPECT_EQ(carried("[[]]"), "byte 103: expected two strings, a name and data");
    EXPECT_EQ(carried(R"([["a"]])"), "byte 103: expected two strings, a name and data");
    EXPECT_EQ(carried(R"([["a","b","c"]])"), "byte 103: expected two strings, a name and data");
    EXPECT_EQ(carried(R"(["a"])"), "byte 103: expected an array, found a string");
    EXPECT_EQ(carried(R"([["a",1]])"), "byte 108: expected a string, found a number");
    EXPECT_EQ(carried(R"([["a","b"],])"), "byte 113: expected an array, found no value");
}

TEST(Rejection, OfNumbersOutOfRange) {
    EXPECT_EQ(number_refusal("18446744073709551615"), "decoded");
    EXPECT_EQ(number_refusal("18446744073709551616"), "byte 67: number out of range");
    EXPECT_EQ(number_refusal("99999999999999999999"), "byte 67: number out of range");
    EXPECT_EQ(number_refusal("184467440737095516150"), "byte 67: number out of range");
    EXPECT_EQ(number_refusal(std::string(1000, '9')), "byte 67: number out of range");
    EXPECT_EQ(error_refusal(R"({"Poison":{"attempt_count":4294967296}})"),
              "byte 27: number out of range");
}

TEST(Rejection, OfNumbersThatAreNotWhole) {
    constexpr std::string_view whole = "byte 67: expected a whole number that is not negative";

    EXPECT_EQ(number_refusal("-1"), whole);
    EXPECT_EQ(number_refusal("-0"), whole);
    EXPECT_EQ(number_refusal("-"), whole);
    EXPECT_EQ(number_refusal("1.0"), whole);
    EXPECT_EQ(number_refusal("1e3"), whole);
    EXPECT_EQ(number_refusal("1E3"), whole);
    EXPECT_EQ(number_refusal("01"), "byte 67: a number begins with 0");
    EXPECT_EQ(number_refusal("00"), "byte 67: a number begins with 0");
    EXPECT_EQ(number_refusal("+1"), "byte 67: expected a number, found no value");
    EXPECT_EQ(number_refusal("1x"), "byte 68: expected '}', found no value");
}

TEST(Rejection, OfBrokenStrings) {
    EXPECT_EQ(reason_refusal("\""), "byte 46: the text ends inside a string");
    EXPECT_EQ(item_refusal(R"({"CancelInstance":{"instance":"i","reason":"\)"),
              "byte 44: no such escape");
    EXPECT_EQ(reason_refusal("\"a\nb\""), "byte 45: control character in a string");
    EXPECT_EQ(reason_refusal("\"a\0b\""s), "byte 45: control character in a string");
    EXPECT_EQ(reason_refusal(R"("\x")"), "byte 44: no such escape");
    EXPECT_EQ(reason_refusal(R"("\U0041")"), "byte 44: no such escape");
    EXPECT_EQ(reason_refusal(R"("\u12g4")"), "byte 44: \\u needs four hexadecimal digits");
    EXPECT_EQ(reason_refusal(R"("\u12")"), "byte 44: \\u needs four hexadecimal digits");
}

TEST(Rejection, OfHalfASurrogatePair) {
    constexpr std::string_view half = "byte 44: half of a surrogate pair";

    EXPECT_EQ(reason_refusal(R"("\ud83d")"), half);
    EXPECT_EQ(reason_refusal(R"("\ud83dx")"), half);
    EXPECT_EQ(reason_refusal(R"("\ud83d\n")"), half);
    EXPECT_EQ(reason_refusal(R"("\ud83d\u0041")"), half);
    EXPECT_EQ(reason_refusal(R"("\ud83d\ud83d")"), half);
    EXPECT_EQ(reason_refusal(R"("\ude00")"), half);
    EXPECT_EQ(reason_refusal(R"("\ude00\ud83d")"), half);
    EXPECT_EQ(reason_refusal(R"("\ud83d\ude0g")"), half);
}

TEST(Rejection, OfTextThatIsNotUtf8) {
    EXPECT_EQ(reason_refusal("\"\x80\""), "byte 44: not UTF-8");
    EXPECT_EQ(reason_refusal("\"\xc0\xaf\""), "byte 44: not UTF-8");
    EXPECT_EQ(reason_refusal("\"\xe0\x9f\xbf\""), "byte 44: not UTF-8");
    EXPECT_EQ(reason_refusal("\"\xf0\x8f\xbf\xbf\""), "byte 44: not UTF-8");
    EXPECT_EQ(reason_refusal("\"abc\xed\xa0\x80\""), "byte 47: not UTF-8");
    EXPECT_EQ(reason_refusal("\"\xf4\x90\x80\x80\""), "byte 44: not UTF-8");
    EXPECT_EQ(reason_refusal("\"\xe2\x82\""), "byte 44: not UTF-8");
    EXPECT_EQ(unknown_value_refusal("\"\xff\""), "byte 55: not UTF-8");
    EXPECT_EQ(item_refusal("{\"\xff\":{}}"), "byte 2: not UTF-8");
}

TEST(Rejection, OfBrokenStructure) {
    EXPECT_EQ(event_refusal("{"), "byte 1: expected a string, found the end of the text");
    EXPECT_EQ(event_refusal("{,}"), "byte 1: expected a string, found no value");
    EXPECT_EQ(event_refusal(R"({"event_id"})"), "byte 11: expected ':', found no value");
    EXPECT_EQ(event_refusal(R"({"event_id":1,})"), "byte 14: expected a string, found no value");
    EXPECT_EQ(event_refusal(R"({"event_id":1 "execution_id":1})"),
              "byte 14: expected '}', found a string");
    EXPECT_EQ(event_refusal(R"({"event_id":1)"),
              "byte 13: expected '}', found the end of the text");
    EXPECT_EQ(event_refusal("{'event_id':1}"), "byte 1: expected a string, found no value");
    EXPECT_EQ(event_refusal("/* */{}"), "byte 0: expected an object, found no value");
}

TEST(Rejection, OfBrokenValuesOfUnknownMembers) {
    EXPECT_EQ(unknown_value_refusal("[1,{\"a\":null}]"), "decoded");
    EXPECT_EQ(unknown_value_refusal(""), "byte 54: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("nul"), "byte 54: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("True"), "byte 54: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("NaN"), "byte 54: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("[1,]"), "byte 57: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("[1 2]"), "byte 57: expected ']', found a number");
    EXPECT_EQ(unknown_value_refusal("[}"), "byte 55: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("{1:2}"), "byte 55: expected a string, found a number");
    EXPECT_EQ(unknown_value_refusal("{\"a\" 1}"), "byte 59: expected ':', found a number");
    EXPECT_EQ(unknown_value_refusal("-"), "byte 54: expected digits after '-'");
    EXPECT_EQ(unknown_value_refusal("-x"), "byte 54: expected digits after '-'");
    EXPECT_EQ(unknown_value_refusal("1."), "byte 54: expected digits after '.'");
    EXPECT_EQ(unknown_value_refusal(".5"), "byte 54: expected a value, found no value");
    EXPECT_EQ(unknown_value_refusal("1e"), "byte 54: expected digits in the exponent");
    EXPECT_EQ(unknown_value_refusal("1e+"), "byte 54: expected digits in the exponent");
    EXPECT_EQ(unknown_value_refusal("012"), "byte 54: a number begins with 0");
    EXPECT_EQ(unknown_value_refusal("-012"), "byte 54: a number begins with 0");
}

TEST(Rejection, OfNestingDeeperThan64) {
    const auto nested = [](std::size_t depth) { // the value stands in two objects
        return unknown_value_refusal(std::string(depth, '[') + std::string(depth, ']'));
    };

    EXPECT_EQ(nested(62), "decoded");
    EXPECT_EQ(nested(63), "byte 116: nesting deeper than 64");
    EXPECT_EQ(unknown_value_refusal(std::string(1'000'000, '[')),
              "byte 116: nesting deeper than 64");
    std::string objects;
    for (int depth = 0; depth < 1'000'000; ++depth) {
        objects += "{\"a\":";
    }
    EXPECT_EQ(unknown_value_refusal(objects), "byte 364: nesting deeper than 64");
}

// Cut anywhere, a value is refused, never read as something shorter.
TEST(Rejection, OfEveryPrefixOfAValue) {
    const std::string text =
        R"({"event_id":1,"source_event_id":2,"instance_id":"\u00e9","execution_id":1,)"
        R"("timestamp_ms":5,"duroxide_version":"0.1.0","type":"ActivityFailed","details":)"
        R"({"Application":{"kind":{"Cancelled":{"reason":"user"}},"message":"é","retryable":false,)"
        R"("x":[1.5e1,true,null]}},"location":"a:1"})";
    ASSERT_TRUE(decode_event(text));

    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_NE(event_refusal(std::string_view{text}.substr(0, size)), "decoded") << size;
    }
}

} // namespace

} // namespace durable
