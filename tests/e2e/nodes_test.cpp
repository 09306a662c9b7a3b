// Nodes of one store with different code: what one cannot run goes to the one that can, at once,
// and waits without harm for as long as there is none.

#include "e2e/e2e.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

namespace durable::e2e::nodes_test {
namespace {

using Text = std::string;

constexpr Activity<int(int)> increment{"Increment"};
constexpr Activity<int(int)> halve{"Halve"};
constexpr Orchestration<int(int)> left{"Left"};
constexpr Orchestration<int(int)> right{"Right"};
constexpr Orchestration<int(int)> service{"Service"};
constexpr Event<int> go{"Go"};

Task<int> pass_on(Context, int n) {
    co_return n;
}

Task<int> count_five(Context ctx, int n) {
    for (int i = 0; i < 5; ++i) {
        n = co_await ctx.call(increment, n);
        co_await ctx.sleep(0s);
    }
    co_return n;
}

Task<int> ask_left(Context ctx, int n) {
    const int half = co_await ctx.call(halve, n);
    co_return co_await ctx.call(left, half);
}

Task<int> wait_for_go(Context ctx, int) {
    co_return co_await ctx.wait_for(go);
}

Task<int> count_then_wait(Context ctx, int n) {
    co_await ctx.call(increment, n);
    co_return co_await ctx.wait_for(go);
}

class Nodes : public E2e {
 protected:
    TestRuntime& add_node(const Registry& code) {
        RuntimeOptions chosen;
        chosen.evict_always = GetParam() == Frames::evicted;
        chosen.logger = log;
        chosen.metrics = metrics;
        return nodes.emplace_back(
            code, TestRuntime::Options{.runtime = chosen, .clock = clock, .provider = store});
    }
    // Each in turn, so that each is asked first at some time. No time passes.
    void let_all_work() {
        for (bool worked = true; worked;) {
            worked = false;
            for (auto& node : nodes) {
                const bool turn = node.run_turn();
                worked |= node.run_activity() || turn;
            }
        }
    }
    [[nodiscard]] std::size_t completed(const std::vector<Text>& ids) {
        return static_cast<std::size_t>(std::ranges::count_if(
            ids, [&](const Text& id) { return status(id) == RunStatus::completed; }));
    }
    // Notes what it is told of its attempts.
    [[nodiscard]] auto counting() {
        return [this](ActivityContext& ctx, int n) {
            attempts.push_back(ctx.attempt());
            return n + 1;
        };
    }

    std::deque<TestRuntime> nodes;
    std::vector<std::uint32_t> attempts;
};

INSTANTIATE_TEST_SUITE_P(, Nodes, ::testing::Values(Frames::kept, Frames::evicted), frames_name);

// R4
TEST_P(Nodes, WithDifferentOrchestrationsFinishEverythingAtOnce) {
    Registry ours;
    ours.add(left, count_five).add(halve, [](int n) { return n / 2; });
    Registry theirs;
    theirs.add(right, ask_left).add(increment, counting());
    add_node(ours);
    add_node(theirs);
    const auto begun = clock->now();
    std::vector<Text> ids;
    for (int i = 0; i < 40; ++i) {
        ids.push_back("i" + std::to_string(i));
        start(i % 2 == 0 ? left : right, i, {.id = ids.back()});
    }

    let_all_work();

    EXPECT_EQ(completed(ids), ids.size());
    EXPECT_EQ(clock->now(), begun);
    EXPECT_EQ(std::ranges::count(attempts, 1u), std::ssize(attempts));
    EXPECT_EQ(metric("durable_orchestration_configuration_errors_total"), 0);
}

TEST_P(Nodes, OfWhichOneInTenHasTheNewVersionDelayAndPoisonNothing) {
    Registry old_code;
    old_code.add(service, "1.0.0", pass_on).add(increment, counting());
    Registry new_code = old_code;
    new_code.add(service, "2.0.0", count_five);
    for (int i = 0; i < 9; ++i) {
        add_node(old_code);
    }
    add_node(new_code);
    const auto begun = clock->now();
    std::vector<Text> ids;
    for (int i = 0; i < 30; ++i) {
        ids.push_back("i" + std::to_string(i));
        start(service, i, {.id = ids.back(), .version = "2.0.0"});
    }

    let_all_work();

    EXPECT_EQ(completed(ids), ids.size());
    EXPECT_EQ(clock->now(), begun);
    EXPECT_EQ(client.status("i7").value().output, "12");
    EXPECT_EQ(std::ranges::count(attempts, 1u), std::ssize(attempts));
    for (auto& node : nodes) {
        EXPECT_TRUE(node.parked().empty());
    }
}

TEST_P(Nodes, WithoutCodeLeaveTheNextExecutionToTheOneThatHasIt) {
    constexpr Orchestration<int(int)> chain{"Chain"};
    Registry old_code;
    old_code.add(chain, "1.0.0", [](Context ctx, int n) -> Task<int> {
        co_return co_await ctx.continue_as_new(
            Orchestration<int(int)>{"Chain"}, n + 1, {.version = "2.0.0"});
    });
    Registry new_code;
    new_code.add(chain, "2.0.0", pass_on);
    add_node(old_code);
    start(chain, 1, {.id = "a"});
    let_all_work();
    EXPECT_EQ(status("a"), RunStatus::running);

    add_node(new_code);
    let_all_work();

    EXPECT_EQ(client.status("a").value().output, "2");
}

// U3
TEST_P(Nodes, OfARollbackForADayHarmNothing) {
    registry.add(service, "1.0.0", wait_for_go).add(increment, [](int n) { return n + 1; });
    const auto release_1 = registry;
    registry.add(service, "2.0.0", count_then_wait);
    const auto release_2 = registry;
    start(service, 1, {.id = "a"});
    settle();
    crash();
    registry = release_1;
    raise("a", go, 42);

    runtime().advance(24h);

    EXPECT_EQ(status("a"), RunStatus::running);
    const auto waiting = management().parked().value();
    ASSERT_EQ(waiting.size(), 1u);
    EXPECT_EQ(waiting[0].kind, ParkedWork::Kind::turn);
    EXPECT_EQ(waiting[0].instance, "a");
    EXPECT_EQ(waiting[0].name + " " + waiting[0].version, "Service 2.0.0");
    EXPECT_EQ(waiting[0].attempts, 0u);
    EXPECT_EQ(waiting[0].reason, "");
    EXPECT_EQ(waiting[0].since, clock->now() - 24h);

    crash();
    registry = release_2;
    settle();

    EXPECT_EQ(client.status("a").value().output, "42");
    EXPECT_TRUE(management().parked().value().empty());
}

TEST_P(Nodes, MeasureWhatNoneOfThemTakes) {
    options.gauge_poll_interval = 1s;
    start(left, 1, {.id = "a"});
    start(service, 1, {.id = "b"});
    runtime().advance(9s);
    EXPECT_EQ(metric("durable_unfetched_work"), 0);

    runtime().advance(3s);

    EXPECT_EQ(metric("durable_unfetched_work"), 2);
    EXPECT_EQ(metric("durable_parked_orchestrations"), 0);
}

TEST_P(Nodes, ListActivitiesThatNoneCanRun) {
    registry.add(left, count_five);
    start(left, 1, {.id = "a"});
    settle();
    clock->advance(9s);
    EXPECT_TRUE(management().parked().value().empty()); // a node with the code may just be busy
    clock->advance(1s);

    const auto waiting = management().parked().value();

    ASSERT_EQ(waiting.size(), 1u);
    EXPECT_EQ(waiting[0].kind, ParkedWork::Kind::activity);
    EXPECT_EQ(waiting[0].instance, "a");
    EXPECT_EQ(waiting[0].name, "Increment");
    EXPECT_EQ(management().parked(1min).value().size(), 0u);
    EXPECT_EQ(management().parked(0s, 0).value().size(), 0u);
    EXPECT_EQ(management().parked(-1s).error().code, ErrorCode::invalid_argument);
}

// ---- Reasons that are stored (U9)

TEST_P(Nodes, ThatCannotGoOnSayWhyToEveryClient) {
    registry.add(service, wait_for_go);
    start(service, 1, {.id = "a"});
    settle();
    EXPECT_FALSE(client.status("a").value().parked);
    crash();
    registry = {};
    registry.add(service, count_then_wait).add(increment, [](int n) { return n; });
    const auto begun = clock->now();
    raise("a", go, 7);
    runtime().advance(1h);
    crash(); // who has parked it knows nothing any more

    const auto parked = client.status("a").value().parked.value();
    EXPECT_NE(parked.reason.find("error E2001 in Service 1.0.0, instance a"), Text::npos)
        << parked.reason;
    EXPECT_EQ(parked.since, begun);
    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(management().instance_info("a").value().parked, parked);
    const auto listed = management().parked().value();
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].reason, parked.reason);
    EXPECT_EQ(listed[0].since, begun);

    registry = {};
    registry.add(service, wait_for_go);
    EXPECT_EQ(output("a"), "7");
    EXPECT_FALSE(client.status("a").value().parked);
    EXPECT_TRUE(management().parked().value().empty());
}

TEST_P(Nodes, GiveBackMessagesSoThatNothingOvertakesThem) {
    constexpr Queue<int> numbers{"Numbers"};
    registry.add(service, [](Context ctx, int) -> Task<int> {
        int all = 0;
        for (int i = 0; i < 3; ++i) {
            const int next = co_await ctx.dequeue(Queue<int>{"Numbers"});
            all = all * 10 + next;
        }
        co_return all;
    });
    const auto fitting = registry;
    start(service, 0, {.id = "a"});
    settle();
    crash();
    registry = {};
    registry.add(service, count_then_wait).add(increment, [](int n) { return n; });
    enqueue("a", numbers, 1);
    settle(); // parked with 1
    enqueue("a", numbers, 2);
    crash();
    registry = fitting;
    enqueue("a", numbers, 3);

    EXPECT_EQ(output("a"), "123");
}

TEST(NodesOnDisk, TheReasonIsSeenByTheNextProcess) {
    const TemporaryDirectory directory;
    const auto open = [&] { return fs::open(directory.path() + "/store").value(); };
    const auto clock = std::make_shared<ManualClock>();
    Registry first;
    first.add(service, wait_for_go);
    Registry second;
    second.add(service, count_then_wait).add(increment, [](int n) { return n; });
    {
        const auto store = fs::open(directory.path() + "/store", {.clock = clock}).value();
        TestRuntime one{
            first, {.runtime = {.logger = silent_logger()}, .clock = clock, .provider = store}};
        ASSERT_TRUE(one.client().start(service, 1, {.id = "a"}));
        ASSERT_TRUE(one.run_until_idle());
        ASSERT_TRUE(one.client().raise("a", go, 1));
        TestRuntime two{
            second, {.runtime = {.logger = silent_logger()}, .clock = clock, .provider = store}};
        ASSERT_TRUE(two.run_until_idle());
    }

    const auto status = Client{open()}.status("a").value();

    ASSERT_TRUE(status.parked);
    EXPECT_NE(status.parked->reason.find("error E2001"), Text::npos);
}

// ---- Suspects (U2)

// Each has been under way in two processes that died. Any of them may have killed both.
TEST(NodesWithSuspects, RunOneOfThemAtATimeAndTheHealthyBesideIt) {
    constexpr Activity<int(int)> suspected{"Suspected"};
    constexpr Activity<int(int)> healthy{"Healthy"};
    constexpr int suspects = 3;
    const auto store = make_store();
    const auto log = std::make_shared<RecordingLogger>();
    std::atomic<int> at_once = 0;
    std::atomic<int> most = 0;
    std::atomic<bool> healthy_ran = false;
    Registry registry;
    registry.add(suspected, [&](int n) {
        most = std::max(most.load(), ++at_once);
        while (!healthy_ran) {
            std::this_thread::yield();
        }
        --at_once;
        return n;
    });
    registry.add(healthy, [&](int n) {
        healthy_ran = true;
        return n;
    });
    registry.add(left, [](Context ctx, int n) -> Task<int> {
        std::vector<Operation<int>> parts;
        for (int i = 0; i < suspects; ++i) {
            parts.push_back(ctx.call(Activity<int(int)>{"Suspected"}, i));
        }
        parts.push_back(ctx.call(Activity<int(int)>{"Healthy"}, n));
        const auto all_of_them = co_await all{std::move(parts)};
        co_return static_cast<int>(all_of_them.size());
    });
    const Client client{store};
    const auto run = client.start(left, 1, {.id = "a"}).value();
    {
        const auto turns =
            Runtime::start(store, registry, {.activity_threads = 0, .logger = silent_logger()});
        while (client.status("a").value().status != RunStatus::running) {
            std::this_thread::yield();
        }
    }
    const auto code = std::make_shared<const std::set<Text, std::less<>>>(
        std::set<Text, std::less<>>{"Suspected"});
    for (std::uint32_t death = 1; death <= suspect_after; ++death) {
        std::vector<Text> held;
        for (int i = 0; i < suspects; ++i) {
            held.push_back(
                store->fetch_work_item({.lock_timeout = 60s, .code = code}).value()->lock_token);
        }
        for (const auto& token : held) { // as if its lease had run out
            ASSERT_TRUE(store->abandon_work_item(token, std::nullopt, false));
        }
    }

    const auto runtime = Runtime::start(store, registry, {.logger = log});

    EXPECT_EQ(run.wait(60s).value(), suspects + 1);
    EXPECT_EQ(most.load(), 1);
    EXPECT_EQ(log->with("it runs as the only suspect").size(), std::size_t{suspects});
}

} // namespace
} // namespace durable::e2e::nodes_test
