#include <durable/codec.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace durable {

namespace {

using namespace std::string_literals;

constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

HistoryEvent event_of(history::Kind kind) {
    HistoryEvent event;
    event.event_id = 1;
    event.instance_id = "i";
    event.execution_id = 1;
    event.timestamp_ms = 5;
    event.engine_version = "0.1.0";
    event.kind = std::move(kind);
    return event;
}

// The text of an event that completed with `output`.
std::string completed_with(std::string_view output_on_the_wire) {
    return R"({"event_id":1,"source_event_id":null,"instance_id":"i","execution_id":1,)"
           R"("timestamp_ms":5,"duroxide_version":"0.1.0","type":"OrchestrationCompleted",)"
           R"("output":")" +
           std::string{output_on_the_wire} + "\"}";
}

std::string encoded_output(std::string output) {
    return encode(event_of(history::OrchestrationCompleted{.output = std::move(output)})).value();
}

std::string refusal(const HistoryEvent& event) {
    const auto encoded = encode(event);
    return encoded ? "encoded" : encoded.error().text();
}

TEST(Encode, AppendsToWhatIsThere) {
    std::string out = "before\n";

    const auto done =
        encode_to(out, WorkItem{work::CancelInstance{.instance = "i", .reason = "r"}});

    ASSERT_TRUE(done);
    EXPECT_EQ(out,
              "before\n"
              R"({"CancelInstance":{"instance":"i","reason":"r"}})");
}

TEST(Encode, EscapesOnlyWhatJsonDemands) {
    EXPECT_EQ(encoded_output("\"\\\b\t\n\f\r"), completed_with(R"(\"\\\b\t\n\f\r)"));
    EXPECT_EQ(encoded_output("\x01\x1f\0"s), completed_with(R"(\u0001\u001f\u0000)"));
    EXPECT_EQ(encoded_output("/'<>&\x7f"), completed_with("/'<>&\x7f"));
    EXPECT_EQ(encoded_output("é€😀\u2028"), completed_with("é€😀\u2028"));
}

// Eight bytes are looked at together: an escape must be found at every position among them.
TEST(Encode, FindsAnEscapeAtEveryPosition) {
    for (std::size_t before = 0; before < 20; ++before) {
        const std::string head(before, 'a');
        for (std::size_t after = 0; after < 20; ++after) {
            const std::string tail(after, 'b');
            EXPECT_EQ(encoded_output(head + "\"" + tail), completed_with(head + "\\\"" + tail));
            EXPECT_EQ(encoded_output(head + "é" + tail), completed_with(head + "é" + tail));
        }
    }
}

// Text leaves the writer's buffer in pieces; sizes around its borders must not lose a byte.
TEST(Encode, WritesPayloadsOfEverySizeInFull) {
    for (std::size_t size = 700; size < 1200; ++size) {
        const std::string payload(size, 'x');
        ASSERT_EQ(encoded_output(payload), completed_with(payload));
    }
    std::string controls(100'000, '\x02');
    std::string escaped;
    for (std::size_t index = 0; index < controls.size(); ++index) {
        escaped += "\\u0002";
    }
    EXPECT_EQ(encoded_output(controls), completed_with(escaped));
}

TEST(Encode, WritesTheWholeRangeOfNumbers) {
    HistoryEvent event = event_of(history::TimerFired{.fire_at_ms = largest});
    event.event_id = largest;
    event.source_event_id = largest;
    event.execution_id = largest;
    event.timestamp_ms = largest;

    const std::string text = encode(event).value();

    EXPECT_EQ(text,
              R"({"event_id":18446744073709551615,"source_event_id":18446744073709551615,)"
              R"("instance_id":"i","execution_id":18446744073709551615,)"
              R"("timestamp_ms":18446744073709551615,"duroxide_version":"0.1.0",)"
              R"("type":"TimerFired","fire_at_ms":18446744073709551615})");
    EXPECT_EQ(decode_event(text).value(), event);
}

TEST(Encode, LeavesOutWhatIsAbsentButKeepsWhatIsEmpty) {
    EXPECT_TRUE(encode(event_of(history::ActivityScheduled{.name = "n", .input = ""}))
                    .value()
                    .ends_with(R"("type":"ActivityScheduled","name":"n","input":""})"));
    EXPECT_TRUE(encode(event_of(history::ActivityScheduled{.name = "n", .input = "", .tag = ""}))
                    .value()
                    .ends_with(R"("name":"n","input":"","tag":""})"));
}

TEST(Encode, WritesTheLocationAfterTheMembersOfTheKind) {
    HistoryEvent event = event_of(history::ExternalSubscribed{.name = "approved"});
    event.location = "order.cpp:42";
    event.extra = R"("later":[1,2])";

    EXPECT_TRUE(encode(event).value().ends_with(
        R"("name":"approved","location":"order.cpp:42","later":[1,2]})"));
}

TEST(Encode, RefusesBytesThatAreNotUtf8AndNamesTheMember) {
    HistoryEvent event = event_of(history::ActivityScheduled{.name = "n", .input = "a\xff"});

    EXPECT_EQ(refusal(event), "encode: \"input\" is not UTF-8");

    event.instance_id = "\xc3";
    EXPECT_EQ(refusal(event), "encode: \"instance_id\" is not UTF-8");
}

TEST(Encode, RefusesEveryFormThatIsNotUtf8) {
    for (const std::string& bad : {"\x80"s,             // continuation without a start
                                   "\xc0\xaf"s,         // overlong '/'
                                   "\xc1\xbf"s,         // overlong
                                   "\xe0\x9f\xbf"s,     // overlong
                                   "\xf0\x8f\xbf\xbf"s, // overlong
                                   "\xed\xa0\x80"s,     // surrogate
                                   "\xf4\x90\x80\x80"s, // above U+10FFFF
                                   "\xf5\x80\x80\x80"s,
                                   "\xe2\x82"s, // cut off
                                   "\xf0\x9f\x98"s,
                                   "\xc3("s}) {
        EXPECT_EQ(refusal(event_of(history::OrchestrationCompleted{.output = bad})),
                  "encode: \"output\" is not UTF-8");
        EXPECT_EQ(refusal(event_of(history::OrchestrationCompleted{.output = "12345678" + bad})),
                  "encode: \"output\" is not UTF-8");
    }
}

TEST(Encode, LeavesTheTextUnchangedWhenItRefuses) {
    std::string out = "before";
    const std::string long_and_bad = std::string(100'000, 'x') + "\xff";

    const auto event =
        encode_to(out, event_of(history::OrchestrationCompleted{.output = long_and_bad}));
    const auto item = encode_to(out, WorkItem{work::CancelInstance{.reason = long_and_bad}});
    const auto error = encode_to(out, ErrorDetails{details::Application{.message = long_and_bad}});

    EXPECT_EQ(event.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(item.error().text(), "encode: \"reason\" is not UTF-8");
    EXPECT_EQ(error.error().text(), "encode: \"message\" is not UTF-8");
    EXPECT_EQ(out, "before");
}

TEST(Encode, RefusesMessagesToCarryForwardThatAreNotUtf8) {
    EXPECT_EQ(refusal(event_of(history::OrchestrationStarted{
                  .carry_forward_events = {{{.name = "inbox", .data = "\xff"}}}})),
              "encode: \"carry_forward_events\" is not UTF-8");
}

// `extra` is written as it is, so it must be what reading leaves in it: otherwise the text would be
// no JSON, or would be read back as something else.
TEST(Encode, RefusesExtraThatWouldNotBeReadBackAsItIs) {
    const auto with_extra = [](std::string extra) {
        HistoryEvent event = event_of(history::ActivityScheduled{.name = "n", .input = ""});
        event.extra = std::move(extra);
        return refusal(event);
    };

    EXPECT_EQ(with_extra(R"("a":1,"b":{"c":[]})"), "encoded");
    EXPECT_EQ(with_extra("a"), "encode: extra: byte 0: expected a string, found no value");
    EXPECT_EQ(with_extra(R"("a":)"),
              "encode: extra: byte 4: expected a value, found the end of the text");
    EXPECT_EQ(with_extra(R"("a":1})"), "encode: extra: byte 5: unexpected text after the value");
    EXPECT_EQ(with_extra(R"("a":1,)"),
              "encode: extra: byte 6: expected a string, found the end of the text");
    EXPECT_EQ(with_extra(R"("a": 1)"), "encode: extra: byte 0: white space between tokens");
    EXPECT_EQ(with_extra(R"("a":1,"a":2)"), "encode: extra: byte 6: repeated member \"a\"");
    EXPECT_EQ(with_extra(R"("tag":"gpu")"), "encode: extra: byte 0: known member \"tag\"");
    EXPECT_EQ(with_extra(R"("type":"x")"), "encode: extra: byte 0: known member \"type\"");
    EXPECT_EQ(with_extra(R"("event_id":1)"), "encode: extra: byte 0: known member \"event_id\"");
    EXPECT_EQ(with_extra(R"("location":"")"), "encode: extra: byte 0: known member \"location\"");
    EXPECT_EQ(with_extra("\"a\":\"\xff\""), "encode: extra: byte 5: not UTF-8");
    EXPECT_EQ(with_extra("\"a\":" + std::string(63, '[') + std::string(63, ']')), "encoded");
    EXPECT_EQ(with_extra("\"a\":" + std::string(64, '[') + std::string(64, ']')),
              "encode: extra: byte 67: nesting deeper than 64");
}

TEST(Encode, RefusesBadExtraOfNestedObjects) {
    const auto cancelled =
        encode(ErrorDetails{details::Application{.kind = details::ApplicationKind::cancelled,
                                                 .reason = "user",
                                                 .kind_extra = R"("reason":"other")"}});
    const auto item = encode(WorkItem{work::CancelInstance{.extra = "}"}});

    EXPECT_EQ(cancelled.error().text(), "encode: extra: byte 0: known member \"reason\"");
    EXPECT_EQ(item.error().text(), "encode: extra: byte 0: expected a string, found no value");
}

} // namespace

} // namespace durable
