// A later version may add members; this one must hand them on as they are.

#include "unit/model/golden.hpp"

#include <durable/codec.hpp>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace durable {

namespace {

using golden::Shape;

// Reads, writes, and expects the very same bytes.
void expect_unchanged(Shape shape, std::string_view text) {
    const auto again = golden::through_codec(shape, text);

    ASSERT_TRUE(again) << again.error().text() << '\n' << text;
    EXPECT_EQ(*again, text);
}

TEST(UnknownMembers, OfAnEventSurvive) {
    expect_unchanged(
        Shape::event,
        R"({"event_id":1,"source_event_id":null,"instance_id":"i","execution_id":1,)"
        R"("timestamp_ms":5,"duroxide_version":"9.0.0","type":"KeyValuesCleared",)"
        R"("later":{"a":[1,-2.5e+10,true,false,null,{}],"b":"\u00e9\"\\"},"":[],"\u006bey":0})");
}

TEST(UnknownMembers, OfEveryGoldenLineSurvive) {
    for (const golden::Line& line : golden::lines()) {
        const std::string_view brackets = line.shape == Shape::event ? "}" : "}}";
        const std::string head = line.text.substr(0, line.text.size() - brackets.size());

        expect_unchanged(line.shape,
                         head + R"(,"later":{"type":"x"},"also":[1])" + std::string{brackets});
    }
}

TEST(UnknownMembers, OfErrorsInsideEventsAndItemsSurvive) {
    expect_unchanged(
        Shape::event,
        R"({"event_id":1,"source_event_id":2,"instance_id":"i","execution_id":1,)"
        R"("timestamp_ms":5,"duroxide_version":"9.0.0","type":"ActivityFailed","details":)"
        R"({"Infrastructure":{"operation":"o","message":"m","retryable":true,"why":"x"}},"z":1})");
    expect_unchanged(
        Shape::work_item,
        R"({"ActivityFailed":{"instance":"i","execution_id":1,"id":2,"details":)"
        R"({"Infrastructure":{"operation":"o","message":"m","retryable":true,"why":"x"}},"z":1}})");
}

TEST(UnknownMembers, OfTheObjectNestedInAnErrorSurvive) {
    expect_unchanged(
        Shape::error,
        R"({"Application":{"kind":{"Cancelled":{"reason":"user","by":"ana"}},"message":"",)"
        R"("retryable":false,"z":1}})");
    expect_unchanged(
        Shape::error,
        R"({"Poison":{"attempt_count":1,"max_attempts":1,"message_type":{"Activity":)"
        R"({"instance":"i","execution_id":1,"activity_name":"n","activity_id":2,"tag":"gpu"}},)"
        R"("message":"","z":1}})");
}

TEST(UnknownMembers, KeepTheirOrderAndFollowTheKnownOnes) {
    const auto again = golden::through_codec(
        Shape::work_item, R"({"CancelInstance":{"b":1,"reason":"r","a":2,"instance":"i","c":3}})");

    EXPECT_EQ(again.value(),
              R"({"CancelInstance":{"instance":"i","reason":"r","b":1,"a":2,"c":3}})");
}

// Stores keep one value per line: text that came with line breaks must not bring them along.
TEST(UnknownMembers, LoseTheirWhiteSpaceButNotThatOfStrings) {
    const auto again =
        golden::through_codec(Shape::work_item,
                              "{\"CancelInstance\":{\"instance\":\"i\",\"reason\":\"r\",\n"
                              "\"later\" : [ 1 ,\n\t{ \"a b\" : \"c  \\\" \\\\\" } ]\r\n}}");

    EXPECT_EQ(again.value(),
              R"({"CancelInstance":{"instance":"i","reason":"r","later":[1,{"a b":"c  \" \\"}]}})");
}

TEST(UnknownMembers, AreRefusedWhenTwoHaveTheSameName) {
    const auto twice = golden::through_codec(
        Shape::work_item,
        R"({"CancelInstance":{"instance":"i","b":1,"reason":"r","a":1,"\u0062":2,"c":3}})");

    EXPECT_EQ(twice.error().text(), "decode_work_item: byte 59: repeated member \"b\"");
}

// One per ten bytes of text, all different: must not take quadratic time.
TEST(UnknownMembers, MayBeMany) {
    std::string text = R"({"CancelInstance":{"instance":"i","reason":"r")";
    for (int index = 0; index < 100'000; ++index) {
        text += ",\"" + std::to_string(index) + "\":0";
    }
    text += "}}";

    expect_unchanged(Shape::work_item, text);
}

} // namespace

} // namespace durable
