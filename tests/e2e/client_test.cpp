// What clients are told, and what is refused before it reaches the store.

#include "e2e/e2e.hpp"

#include <limits>
#include <thread>

namespace durable::e2e::client_test {
namespace {

DURABLE_E2E_SUITE(Clients);

using Text = std::string;

constexpr Orchestration<Text(Text)> echo{"Echo"};
constexpr Orchestration<int()> answer{"Answer"};
constexpr Orchestration<void(int)> quiet{"Quiet"};
constexpr Event<Text> go{"Go"};

Task<Text> say_again(Context, Text input) {
    co_return input;
}

Task<Text> wait_for_go(Context ctx, Text) {
    co_return co_await ctx.wait_for(go);
}

ErrorCode code_of(const auto& result) {
    return result ? ErrorCode::unsupported : result.error().code;
}

TEST_P(Clients, ResultsHaveTheTypeOfTheContract) {
    registry.add(answer, [](Context) -> Task<int> { co_return 42; });
    registry.add(quiet, [](Context, int) -> Task<> { co_return; });
    const auto number = client.start(answer, {.id = "n"}).value();
    const auto nothing = client.start(quiet, 7, {.id = "q"}).value();

    EXPECT_EQ(runtime().finish(number).value(), 42);
    EXPECT_TRUE(runtime().finish(nothing));
    EXPECT_EQ(client.attach(answer, "n").wait(0s).value(), 42);
}

TEST_P(Clients, NeedAProvider) {
    EXPECT_THROW((Client{nullptr}), std::invalid_argument);
}

TEST_P(Clients, AWaitCannotLastLessThanNoTime) {
    const auto refused = client.wait("a", -1s);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(refused.error().message, "the time limit of a wait must not be negative: -1000 ms");
    EXPECT_EQ(code_of(client.wait_for_status_change("a", 0, -1ms)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.wait_for_kv("a", "k", -1ms)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.attach(echo, "a").wait(-1ms)), ErrorCode::invalid_argument);
}

TEST_P(Clients, AStartWithoutAnIdGetsAUuid) {
    registry.add(echo, say_again);

    const auto one = client.start(echo, "1").value();
    const auto two = client.start(echo, "2").value();

    EXPECT_EQ(one.id().size(), 36u);
    EXPECT_EQ(one.id()[14], '4');
    EXPECT_NE(one.id(), two.id());
    EXPECT_EQ(runtime().finish(one).value(), "1");
}

TEST_P(Clients, AnIdThatIsTakenIsRefusedOrAttachedTo) {
    registry.add(echo, say_again);
    start(echo, "first", {.id = "a"});
    EXPECT_EQ(output("a"), "first");

    const auto refused = client.start(echo, "second", {.id = "a"});
    const auto attached = client.start(echo, "second", {.id = "a", .existing = Existing::attach});

    EXPECT_EQ(code_of(refused), ErrorCode::already_exists);
    EXPECT_EQ(attached.value().wait(0s).value(), "first");
}

TEST_P(Clients, BadIdsNamesAndVersionsAreRefused) {
    EXPECT_EQ(code_of(client.start(echo, "", {.id = "sub::1"})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.start(echo, "", {.id = "a::sub::1"})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.start(echo, "", {.id = Text(513, 'x')})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.start(echo, "", {.id = "a", .version = "one"})),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.start("no spaces allowed", "")), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.raise("", go, "")), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.raise("a", "bad name", "")), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.enqueue("a", "", "")), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.cancel("", "")), ErrorCode::invalid_argument);
}

TEST_P(Clients, AnIdThatNoInstanceCanHaveIsRefusedByEveryCall) {
    for (const auto& id :
         {Text{}, Text{"two\nlines"}, Text{"nul\0", 4}, Text{"\x7f"}, Text{"\xff"}}) {
        EXPECT_EQ(code_of(client.raise(id, go, "")), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.enqueue(id, "Inbox", "")), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.cancel(id, "")), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.status(id)), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.wait(id, 1h)), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.wait_for_status_change(id, 0, 1h)), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.wait_for_kv(id, "key", 1h)), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.kv(id, "key")), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.kv_all(id)), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.stats(id)), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of(client.attach(echo, id).wait(1h)), ErrorCode::invalid_argument);
    }
    const auto refused = client.start(echo, "", {.id = "two\nlines"});
    EXPECT_EQ(refused.error().text(),
              "start: an instance id has no control characters: 'two\\nlines'");
    EXPECT_EQ(code_of(client.start(echo, "", {.id = "\xff"})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.start(echo, "", {.id = "a::detached::1_2"})),
              ErrorCode::invalid_argument);
}

TEST_P(Clients, OddButReadableIdsAreIds) {
    registry.add(echo, say_again);
    for (const auto* id : {" ", "..", "/etc/passwd", "a::b", "\xc3\xa4", "';--", "%00"}) {
        start(echo, id, {.id = id});
        EXPECT_EQ(output(id), id);
    }
}

TEST_P(Clients, OptionsOfAStartThatMakeNoSenseAreRefused) {
    EXPECT_EQ(client.start(echo, "", {.id = "a", .delay = -1s}).error().text(),
              "start: StartOptions::delay must not be negative: -1000 ms");
    EXPECT_EQ(
        client.start(echo, "", {.id = "a", .existing = static_cast<Existing>(7)}).error().text(),
        "start: StartOptions::existing is none of its values: 7");
}

TEST_P(Clients, AreAsGoodAsNewWhenTheyWereMovedFrom) {
    registry.add(echo, say_again);
    Client first{store, clock};
    const Client second{std::move(first)};
    Client third = second;
    third = std::move(first); // NOLINT(bugprone-use-after-move): moving is copying

    EXPECT_TRUE(first.start(echo, "x", {.id = "a"}));
    EXPECT_EQ(output("a"), "x");
    EXPECT_TRUE(third.status("a"));
    EXPECT_TRUE(first.has_management());
}

TEST_P(Clients, ARunThatWasMovedFromHasNoId) {
    auto run = client.attach(echo, "a");
    const auto moved = std::move(run);

    EXPECT_EQ(code_of(run.status()),
              ErrorCode::invalid_argument); // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(code_of(run.wait(1h)), ErrorCode::invalid_argument);
    EXPECT_EQ(moved.status().value().status, RunStatus::not_found);
}

TEST_P(Clients, TextThatIsNotUtf8IsRefused) {
    EXPECT_EQ(code_of(client.start(echo, "\xff", {.id = "a"})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.raise("a", go, "\xff")), ErrorCode::invalid_argument);
}

TEST_P(Clients, AValueThatHasNoPayloadTextIsRefused) {
    constexpr Orchestration<int(double)> round{"Round"};
    constexpr Event<double> measured{"Measured"};
    constexpr Queue<double> measurements{"Measurements"};
    const double nan = std::numeric_limits<double>::quiet_NaN();

    EXPECT_EQ(code_of(client.start(round, nan)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.raise("a", measured, nan)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(client.enqueue("a", measurements, nan)), ErrorCode::invalid_argument);
}

TEST_P(Clients, ADelayedStartWaits) {
    registry.add(echo, say_again);
    start(echo, "later", {.id = "a", .delay = 1h});
    settle();
    EXPECT_EQ(status("a"), RunStatus::pending);

    runtime().advance(1h);

    EXPECT_EQ(output("a"), "later");
}

TEST_P(Clients, WithoutTypesNamesAndTextsAreEnough) {
    registry.add(echo, say_again);

    const auto run = client.start("Echo", "raw", {.id = "a"}).value();

    EXPECT_EQ(runtime().finish(run).value(), "raw");
}

TEST_P(Clients, AStatusTellsTheStoryOfAnInstance) {
    registry.add(echo, "1.4.0", wait_for_go);
    EXPECT_EQ(status("a"), RunStatus::not_found);
    start(echo, "", {.id = "a"});
    const auto pending = client.status("a").value();
    EXPECT_EQ(name_of(pending.status), "Pending"); // sent, not begun
    EXPECT_EQ(pending.orchestration, "Echo");
    EXPECT_EQ(pending.execution_id, 1u);
    settle();
    const auto running = client.status("a").value();
    EXPECT_EQ(running.status, RunStatus::running);
    EXPECT_EQ(running.orchestration, "Echo");
    EXPECT_EQ(running.version, "1.4.0");
    EXPECT_EQ(running.execution_id, 1u);

    raise("a", go, "went");

    EXPECT_EQ(finish("a").output, "went");
}

TEST_P(Clients, AFailureOfTheOrchestrationIsAnErrorOfTheWait) {
    registry.add(echo, [](Context, Text) -> Task<Text> {
        throw OperationFailed{{.kind = "Broken", .message = "it broke"}};
        co_return "";
    });
    const auto run = client.start(echo, "", {.id = "a"}).value();

    const auto result = runtime().finish(run);

    EXPECT_EQ(code_of(result), ErrorCode::orchestration_failed);
    EXPECT_EQ(result.error().message, "it broke");
    EXPECT_EQ(result.error().failure_kind, "Broken");
}

TEST_P(Clients, AResultOfAnotherTypeIsTheCallersMistake) {
    registry.add(echo, say_again);
    start(echo, "not a number", {.id = "a"});
    EXPECT_EQ(output("a"), "not a number");

    const auto result = client.attach(answer, "a").wait(0s);

    EXPECT_EQ(code_of(result), ErrorCode::invalid_argument);
    EXPECT_EQ(result.error().message,
              "the result of a holds 'not a number', which does not fit int: cannot read the "
              "payload: expected a number in range, found 'not a number'");
}

TEST_P(Clients, AStoredValueOfAnotherTypeIsTheCallersMistake) {
    registry.add(echo, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("flag", "maybe");
        co_return "";
    });
    start(echo, "", {.id = "a"});
    EXPECT_EQ(output("a"), "");

    const auto read = client.kv<bool>("a", "flag");
    const auto waited = client.wait_for_kv<bool>("a", "flag", 1s);

    EXPECT_EQ(code_of(read), ErrorCode::invalid_argument);
    EXPECT_EQ(read.error().message,
              "KV 'flag' of a holds 'maybe', which does not fit bool: cannot read the payload: "
              "expected true or false, found 'maybe'");
    EXPECT_EQ(waited.error().message, read.error().message);
}

TEST_P(Clients, AWaitOfZeroLooksOnce) {
    EXPECT_EQ(code_of(client.wait("nobody", 0s)), ErrorCode::timed_out);
    registry.add(echo, say_again);
    start(echo, "x", {.id = "a"});
    settle();
    EXPECT_EQ(client.wait("a", 0s).value().output, "x");
}

TEST_P(Clients, AWaitEndsWhenItsTimeHasPassedOnTheClock) {
    registry.add(echo, wait_for_go);
    start(echo, "", {.id = "a"});
    settle();

    std::atomic<bool> done = false;
    Result<OrchestrationStatus> waited;
    std::jthread waiter{[&] {
        waited = client.wait("a", 1h);
        done = true;
    }};
    while (!done) {
        clock->advance(30min);
    }
    waiter.join();

    EXPECT_EQ(code_of(waited), ErrorCode::timed_out);
}

TEST_P(Clients, AWaitIsWokenByTheEnd) {
    registry.add(echo, wait_for_go);
    start(echo, "", {.id = "a"});
    settle();

    Result<OrchestrationStatus> waited;
    std::jthread waiter{[&] { waited = client.wait("a", 24h); }};
    raise("a", go, "woken");
    settle();
    waiter.join(); // hangs without a wake-up: the clock stands still

    EXPECT_EQ(waited.value().output, "woken");
}

TEST_P(Clients, AStatusChangeIsWaitedFor) {
    registry.add(echo, [](Context ctx, Text) -> Task<Text> {
        ctx.set_status("one");
        co_await ctx.wait_for(go);
        ctx.set_status("two");
        co_await ctx.wait_for(go);
        co_return "";
    });
    start(echo, "", {.id = "a"});
    settle();
    const auto one = client.wait_for_status_change("a", 0, 0s).value();
    EXPECT_EQ(one.custom_status, "one");

    Result<OrchestrationStatus> changed;
    std::jthread waiter{
        [&] { changed = client.wait_for_status_change("a", one.custom_status_version, 24h); }};
    raise("a", go, "");
    settle();
    waiter.join();

    EXPECT_EQ(changed.value().custom_status, "two");
    EXPECT_EQ(code_of(client.wait_for_status_change("a", 2, 0s)), ErrorCode::timed_out);
}

TEST_P(Clients, AKeyIsWaitedFor) {
    registry.add(echo, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.wait_for(go);
        ctx.kv().set("n", 7);
        co_return "";
    });
    start(echo, "", {.id = "a"});
    settle();

    Result<int> value;
    std::jthread waiter{[&] { value = client.wait_for_kv<int>("a", "n", 24h); }};
    raise("a", go, "");
    settle();
    waiter.join();

    EXPECT_EQ(value.value(), 7);
    EXPECT_EQ(code_of(client.wait_for_kv("a", "other", 24h)), ErrorCode::not_found); // it ended
}

TEST_P(Clients, StatsAreOfTheCurrentExecution) {
    registry.add(echo, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("k", "abc");
        co_return "";
    });
    EXPECT_EQ(client.stats("a").value(), std::nullopt);
    start(echo, "", {.id = "a"});
    settle();

    const auto stats = client.stats("a").value().value();

    EXPECT_EQ(stats.history_event_count, 3u);
    EXPECT_EQ(stats.kv_user_key_count, 1u);
    EXPECT_EQ(stats.kv_total_value_bytes, 3u);
}

TEST_P(Clients, AStorageErrorIsPassedOn) {
    class Broken final : public ForwardingProvider {
     public:
        using ForwardingProvider::ForwardingProvider;
        Result<InstanceState> watch_instance(const WatchInstance&) override {
            return fail(ErrorCode::unavailable, "down");
        }
        Result<> start_instance(const work::StartOrchestration&, std::optional<Duration>) override {
            return fail(ErrorCode::unavailable, "down");
        }
    };
    const Client unlucky{std::make_shared<Broken>(store), clock};

    EXPECT_EQ(code_of(unlucky.status("a")), ErrorCode::unavailable);
    EXPECT_EQ(code_of(unlucky.wait("a", 1h)), ErrorCode::unavailable);
    EXPECT_EQ(code_of(unlucky.start(echo, "", {.id = "a"})), ErrorCode::unavailable);
}

} // namespace
} // namespace durable::e2e::client_test
