#include <durable/log.hpp>

#include <array>
#include <ostream>
#include <sstream>
#include <streambuf>

#include <gtest/gtest.h>

namespace durable {
namespace {

constexpr std::array fields{LogField{.name = "activity", .value = "Charge"},
                            LogField{.name = "error", .value = "say \"no\"\nplease"}};

LogRecord record() {
    return {.level = LogLevel::warn,
            .source = "runtime",
            .message = "activity failed",
            .time = from_epoch_ms(1'769'860'800'123),
            .instance = "order-7",
            .execution_id = 1,
            .turn = 3,
            .fields = fields};
}

TEST(TextLogger, WritesOneLineWithInstanceExecutionTurnAndFields) {
    std::ostringstream out;

    text_logger(out, LogLevel::info)->write(record());

    EXPECT_EQ(out.str(),
              "2026-01-31T12:00:00.123Z warn runtime order-7/1#3 activity failed activity=Charge "
              "error=say \"no\"\\nplease\n");
}

TEST(JsonLogger, WritesOneObjectPerLine) {
    std::ostringstream out;

    json_logger(out, LogLevel::info)->write(record());

    EXPECT_EQ(out.str(),
              R"({"time":"2026-01-31T12:00:00.123Z","level":"warn","source":"runtime",)"
              R"("message":"activity failed","instance":"order-7","execution":1,"turn":3,)"
              R"("activity":"Charge","error":"say \"no\"\u000aplease"})"
              "\n");
}

constexpr std::array hostile{
    LogField{.name = "na\x1bme", .value = "\xff\xc3\xa9\x7f\xc2\x9b\x31m\ttab"}};

LogRecord hostile_record() {
    return {.source = "runtime",
            .message = "\x1b[31mred\r",
            .time = from_epoch_ms(0),
            .instance = "a\nb",
            .fields = hostile};
}

TEST(TextLogger, WritesNothingThatMovesACursorAndNothingThatIsNoUtf8) {
    std::ostringstream out;

    text_logger(out, LogLevel::info)->write(hostile_record());

    EXPECT_EQ(out.str(),
              "1970-01-01T00:00:00.000Z info runtime a\\nb \\x1b[31mred\\x0d "
              "na\\x1bme=\\xff\xc3\xa9\\x7f\\xc2\\x9b1m\\x09tab\n");
}

TEST(JsonLogger, WritesJsonWhateverItIsGiven) {
    std::ostringstream out;

    json_logger(out, LogLevel::info)->write(hostile_record());

    EXPECT_EQ(out.str(),
              R"({"time":"1970-01-01T00:00:00.000Z","level":"info","source":"runtime",)"
              R"("message":"\u001b[31mred\u000d","instance":"a\u000ab",)"
              R"("na\u001bme":"\ufffd)"
              "\xc3\xa9"
              R"(\u007f\u009b1m\u0009tab"})"
              "\n");
}

// A report of differences is read by people; and no line of it can pass for another record.
TEST(TextLogger, WritesTheLinesOfAMessageIndentedBelowEachOther) {
    constexpr std::array fields{LogField{.name = "activity", .value = "Charge"}};
    std::ostringstream out;
    const auto logger = text_logger(out, LogLevel::info);

    logger->write({.source = "runtime",
                   .message = "it differs:\n  recorded  A\n\n1970-01-01 warn runtime forged\n",
                   .time = from_epoch_ms(0)});
    logger->write(
        {.source = "runtime", .message = "one\ntwo", .time = from_epoch_ms(0), .fields = fields});

    EXPECT_EQ(out.str(),
              "1970-01-01T00:00:00.000Z info runtime it differs:\n"
              "      recorded  A\n"
              "    \n"
              "    1970-01-01 warn runtime forged\n"
              "1970-01-01T00:00:00.000Z info runtime one\n"
              "    two\n"
              "    activity=Charge\n");
}

TEST(TextLogger, LeavesOutWhatIsUnknown) {
    std::ostringstream out;

    text_logger(out, LogLevel::info)
        ->write({.source = "runtime", .message = "started", .time = from_epoch_ms(0)});

    EXPECT_EQ(out.str(), "1970-01-01T00:00:00.000Z info runtime started\n");
}

// What a disk without space does to a stream.
class FullDisk final : public std::streambuf {};

TEST(Loggers, LoseARecordThatTheStreamDoesNotTakeAndNothingElse) {
    for (const auto& make : {text_logger, json_logger}) {
        FullDisk disk;
        std::ostream out{&disk};
        out.exceptions(std::ios::badbit | std::ios::failbit);
        const auto logger = make(out, LogLevel::info);

        logger->write(record());
        logger->write(record());

        EXPECT_TRUE(out.bad());
        std::ostringstream space;
        out.rdbuf(space.rdbuf()); // clears it too
        logger->write(record());
        EXPECT_TRUE(space.str().contains("order-7"));
    }
}

TEST(TextLogger, DropsWhatIsBelowItsLevel) {
    std::ostringstream out;
    const auto logger = text_logger(out, LogLevel::error);

    logger->write(record());

    EXPECT_TRUE(out.str().empty());
    EXPECT_FALSE(logger->enabled(LogLevel::warn, "runtime"));
    EXPECT_TRUE(logger->enabled(LogLevel::error, "runtime"));
}

} // namespace
} // namespace durable
