#include <durable/log.hpp>

#include <array>
#include <sstream>

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

TEST(TextLogger, LeavesOutWhatIsUnknown) {
    std::ostringstream out;

    text_logger(out, LogLevel::info)
        ->write({.source = "runtime", .message = "started", .time = from_epoch_ms(0)});

    EXPECT_EQ(out.str(), "1970-01-01T00:00:00.000Z info runtime started\n");
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
