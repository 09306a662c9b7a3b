// Values that have no payload text: text in them that is not UTF-8, numbers that are not finite,
// codecs that throw. The orchestration ends there, with a sentence that names the step.

#include "replay/fixture.hpp"

#include <durable/registry.hpp>

#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::unwritable_test {

struct Record {
    std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Record, name)

struct Stubborn {};

} // namespace durable::replay_test::unwritable_test

template <>
struct durable::Codec<durable::replay_test::unwritable_test::Stubborn> {
    using Stubborn = durable::replay_test::unwritable_test::Stubborn;
    static std::string encode(const Stubborn&) { throw 7; }
    static Stubborn decode(std::string_view) { return {}; }
};

namespace durable::replay_test::unwritable_test {

namespace {

constexpr Activity<std::string(Record)> file_record{"File"};
constexpr Activity<std::string(double)> measure{"Measure"};
constexpr Activity<std::string(Stubborn)> insist{"Insist"};
constexpr Activity<Record(Record)> copy_record{"Copy"};
constexpr Orchestration<std::string(Record)> keep_record{"Keep"};
constexpr Orchestration<std::string(Record)> self{"TestOrch"};
constexpr Orchestration<Record(Record)> spoil{"Spoil"};

const Record bad{"a\xff"};
constexpr auto not_utf8 = "the input has no payload text: a text in it is not UTF-8";

TEST(Unwritable, TextInAStructCannotBeCaughtAndNamesTheActivity) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        try {
            auto call = ctx.call(file_record, bad);
            co_await call;
        } catch (...) {
            co_return "caught";
        }
        co_return "went on";
    })
        .fails("'File': " + std::string{not_utf8})
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 OrchestrationFailed 'File': " + std::string{not_utf8}})
        .gives_to_workers({});
}

TEST(Unwritable, InputsOfEveryCallAreRefused) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call(file_record, bad, {.retry = {.max_attempts = 3}});
        co_return co_await call;
    }).fails("'File': " + std::string{not_utf8});
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call(keep_record, bad);
        co_return co_await call;
    }).fails("'Keep': " + std::string{not_utf8});
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.start_detached(keep_record, bad);
    }).fails("'Keep': " + std::string{not_utf8});
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.on_failure(file_record, bad);
        co_return "";
    }).fails("compensation 'File': " + std::string{not_utf8});
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto next = ctx.continue_as_new(self, bad);
        co_return co_await next;
    }).fails("'TestOrch': " + std::string{not_utf8});
}

TEST(Unwritable, AKvValueIsRefusedAndNamesItsKey) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        try {
            ctx.kv().set("k", bad);
        } catch (...) {
            co_return "caught";
        }
        co_return "";
    }).fails("KV key 'k': the value has no payload text: a text in it is not UTF-8");
}

TEST(Unwritable, SoAreNumbersAndWhatACodecThrows) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call(measure, std::numeric_limits<double>::infinity());
        co_return co_await call;
    })
        .fails("'Measure': the input has no payload text: a number that is not finite (NaN, "
               "infinity) has no JSON text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call(insist, Stubborn{});
        co_return co_await call;
    }).fails("'Insist': the input has no payload text: an exception that is no std::exception");
}

TEST(Unwritable, CompensationsRun) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.on_failure_raw("Undo", "it");
        auto call = ctx.call(file_record, bad);
        co_return co_await call;
    })
        .runs_on()
        .gives_to_workers({"ActivityExecute#2 Undo(it)"});
}

TEST(Unwritable, AResultOfAnOrchestrationFailsItWithASentence) {
    Registry registry;
    registry.add(spoil, [](Context, Record) -> Task<Record> { co_return bad; });
    const auto handler = registry.find_orchestration("Spoil");
    ASSERT_NE(handler, nullptr);
    const auto execution =
        replay::Execution::create({.handler = handler, .instance = std::string{test_instance}});
    const std::vector<WorkItem> messages{work::StartOrchestration{
        .instance = test_instance, .orchestration = "Spoil", .input = R"({"name":"a"})"}};

    const auto result = execution->run(messages, Instant{});

    ASSERT_TRUE(result.details);
    EXPECT_EQ(display_text(*result.details),
              "the result of an orchestration has no payload text: a text in it is not UTF-8");
    EXPECT_EQ(kind_of(*result.details), failure_kind::orchestration_failed);
}

TEST(Unwritable, AResultOfAnActivityFailsItWithASentence) {
    Registry registry;
    registry.add(copy_record, [](const Record&) { return bad; });
    ActivityContext context{{}, {}};
    try {
        static_cast<void>((*registry.find_activity("Copy"))(context, R"({"name":"a"})"));
        FAIL() << "it went on";
    } catch (const OperationFailed& failed) {
        EXPECT_EQ(failed.failure().kind, failure_kind::activity_failed);
        EXPECT_EQ(failed.failure().message,
                  "the result has no payload text: a text in it is not UTF-8");
        EXPECT_FALSE(failed.failure().retryable);
    }
}

TEST(Unwritable, WhatTheActivityItselfThrowsStays) {
    Registry registry;
    registry.add(copy_record,
                 [](const Record&) -> Record { throw std::runtime_error{"out of paper"}; });
    ActivityContext context{{}, {}};
    EXPECT_THROW(static_cast<void>((*registry.find_activity("Copy"))(context, "{}")),
                 std::runtime_error);
}

} // namespace

} // namespace durable::replay_test::unwritable_test
