// What the world is told: log lines with instance, execution and turn; metrics that count once.

#include "e2e/e2e.hpp"

namespace durable::e2e::observability_test {
namespace {

DURABLE_E2E_SUITE(Observability);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Event<Text> go{"Go"};

TEST_P(Observability, AnOrchestrationsLogSpeaksOnceWithInstanceExecutionAndTurn) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.log(LogLevel::info, "before");
        co_await ctx.wait_for(go);
        ctx.log(LogLevel::warn, "after");
        co_await ctx.wait_for(go);
        co_return "";
    });
    start(root, "", {.id = "a"});
    settle();
    raise("a", go, "");
    settle();
    raise("a", go, "");
    settle();

    ASSERT_EQ(log->with("before").size(), 1u);
    ASSERT_EQ(log->with("after").size(), 1u);
    const auto line = log->with("after").front();
    EXPECT_EQ(line.source, "orchestration");
    EXPECT_EQ(line.level, LogLevel::warn);
    EXPECT_EQ(line.instance, "a");
    EXPECT_EQ(line.execution_id, 1u);
    EXPECT_EQ(line.turn, 2u);
    EXPECT_NE(line.fields.find("observability_test.cpp:"), Text::npos) << line.fields;
}

TEST_P(Observability, AnActivitysLogSaysWhoSpeaks) {
    registry.add(work, [](ActivityContext& ctx, const Text& input) {
        ctx.log(LogLevel::info, "at work");
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "", {.id = "a"});
    settle();

    ASSERT_EQ(log->with("at work").size(), 1u);
    const auto line = log->with("at work").front();
    EXPECT_EQ(line.source, "activity");
    EXPECT_EQ(line.instance, "a");
    EXPECT_EQ(line.fields,
              "activity=Work activity_id=2 attempt=1 orchestration=Root worker=test-activities");
}

TEST_P(Observability, T32_AStartIsCountedOncePerExecution) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(child, [](Context ctx, Text input) -> Task<Text> {
        co_await ctx.call(work, input);
        co_return co_await ctx.call(work, input);
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(child, input);
    });
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 3) {
            co_return "";
        }
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });
    start(root, "", {.id = "a"});
    start(counter, 1, {.id = "b"});
    settle();

    constexpr auto starts = "durable_orchestration_starts_total";
    EXPECT_EQ(metric(starts), 5);
    EXPECT_EQ(metric(starts, {"orchestration_name=Root", "initiated_by=client"}), 1);
    EXPECT_EQ(metric(starts, {"orchestration_name=Child", "initiated_by=parent"}), 1);
    EXPECT_EQ(metric(starts, {"initiated_by=continue_as_new"}), 2);
    EXPECT_EQ(metric("durable_orchestration_completions_total"), 5);
    EXPECT_EQ(metric("durable_orchestration_completions_total", {"status=continued_as_new"}), 2);
    EXPECT_EQ(metric("durable_orchestration_continue_as_new_total"), 2);
}

TEST_P(Observability, T32_TurnsAreCountedEvenWhenFramesAreNotKept) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        for (int i = 0; i < 11; ++i) {
            co_await ctx.call(work, input);
        }
        co_return "";
    });
    start(root, "", {.id = "a"});
    settle();

    EXPECT_EQ(metrics->sum("durable_orchestration_turns"), 12);
    EXPECT_EQ(metric("durable_orchestration_completions_total", {"final_turn_count=11-50"}), 1);
    EXPECT_EQ(metrics->sum("durable_orchestration_history_size"), 24);
}

TEST_P(Observability, T32_DurationsAreThoseOfTheWholeExecution) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(10s);
        co_await ctx.sleep(20s);
        co_return "";
    });
    start(root, "", {.id = "a"});
    EXPECT_EQ(output("a"), "");

    EXPECT_EQ(metrics->sum("durable_orchestration_duration_seconds"), 30);
}

TEST_P(Observability, T32_FailuresAreCountedOnceByCategory) {
    registry.add(root, [](Context, Text) -> Task<Text> { throw std::runtime_error{"no"}; });
    start(root, "", {.id = "a"});
    settle();

    EXPECT_EQ(metric("durable_orchestration_failures_total"), 1);
    EXPECT_EQ(metric("durable_orchestration_failures_total", {"error_category=application"}), 1);
    EXPECT_EQ(log->with("orchestration failed").size(), 1u);
}

TEST_P(Observability, T32_ActivitiesAreCountedOnceByOutcomeAttemptAndTag) {
    int runs = 0;
    options.worker_tag_filter = TagFilter::any();
    registry.add(work, [&](const Text& input) -> Text {
        if (++runs == 1) {
            throw std::runtime_error{"once"};
        }
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input, {.retry = {.max_attempts = 2}, .tag = "gpu"});
    });
    start(root, "", {.id = "a"});
    EXPECT_EQ(output("a"), "");

    constexpr auto executions = "durable_activity_executions_total";
    EXPECT_EQ(metric(executions), 2);
    EXPECT_EQ(metric(executions, {"outcome=success", "attempt=1", "tag=gpu"}), 1);
    EXPECT_EQ(metric(executions, {"outcome=app_error"}), 1);
    EXPECT_EQ(metric("durable_activity_duration_seconds"), 2);
}

TEST_P(Observability, T25_ACancelledActivityIsNoInfrastructureError) {
    registry.add(work, [&](ActivityContext&, const Text& input) {
        // While it runs, its orchestration loses interest.
        EXPECT_TRUE(client.cancel("a", "enough"));
        EXPECT_TRUE(runtime().run_turn());
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"), "canceled: enough");

    EXPECT_EQ(metric("durable_activity_executions_total", {"outcome=cancelled"}), 1);
    EXPECT_EQ(metric("durable_activity_infrastructure_errors_total"), 0);
}

TEST_P(Observability, ChildrenAreCountedForTheirParents) {
    registry.add(child, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(5s);
        co_return "";
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        auto one = ctx.call(child, input);
        auto two = ctx.call(child, input);
        co_await all{one, two};
        co_return "";
    });
    start(root, "", {.id = "a"});
    EXPECT_EQ(output("a"), "");

    EXPECT_EQ(
        metric("durable_suborchestration_calls_total",
               {"parent_orchestration=Root", "child_orchestration=Child", "outcome=completed"}),
        2);
    EXPECT_EQ(metrics->sum("durable_suborchestration_duration_seconds"), 10);
}

TEST_P(Observability, GaugesAreReadFromTheStore) {
    registry.add(root,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    start(root, "", {.id = "a"});
    start(root, "", {.id = "b"});
    settle();

    runtime().advance(60s);

    EXPECT_EQ(metric("durable_active_orchestrations"), 2);
    EXPECT_EQ(metric("durable_orchestrator_queue_depth"), 0);
    EXPECT_EQ(metric("durable_cached_frames"), GetParam() == Frames::kept ? 2 : 0);
}

TEST_P(Observability, StorageCallsAreMeasured) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return ""; });
    store->fail_next_turn_ack({.code = ErrorCode::unavailable});
    start(root, "", {.id = "a"});
    settle();

    EXPECT_EQ(metric("durable_provider_operation_duration_seconds",
                     {"operation=ack_orchestration_item", "status=success"}),
              1);
    EXPECT_EQ(metric("durable_provider_errors_total",
                     {"operation=ack_orchestration_item", "error_code=unavailable"}),
              1);
}

TEST_P(Observability, SpansSurroundTurnsAndActivities) {
    class Recorder final : public Tracer {
     public:
        std::unique_ptr<Span> start(const SpanInfo& info) noexcept override {
            class Open final : public Span {
             public:
                explicit Open(std::vector<Text>& where) : seen{where} {}
                void set_outcome(std::string_view outcome) noexcept override {
                    seen.push_back("end " + Text{outcome});
                }
                std::vector<Text>& seen;
            };
            seen.push_back(Text{info.name} + " in " + Text{info.instance});
            return std::make_unique<Open>(seen);
        }
        std::vector<Text> seen;
    };
    const auto tracer = std::make_shared<Recorder>();
    options.tracer = tracer;
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "", {.id = "a"});
    settle();

    EXPECT_EQ(tracer->seen,
              (std::vector<Text>{"Root in a",
                                 "end running",
                                 "Work in a",
                                 "end completed",
                                 "Root in a",
                                 "end completed"}));
}

} // namespace
} // namespace durable::e2e::observability_test
