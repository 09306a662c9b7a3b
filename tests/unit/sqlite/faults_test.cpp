// The disk fails at every single call of a scripted workload, in every way. What was reported as
// done is there afterwards, what was refused is not, and nothing is there by half.

#include "unit/sqlite/faulty_vfs.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <durable/memory.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

// What a transaction and its surroundings may be like. One that is larger than SQLite's page cache
// reaches the log before it commits, and a reader that holds a snapshot keeps the log from
// beginning anew.
struct Shape {
    bool spills = false;
    bool reader = false;

    // From one call that meets the fault to the next: of the larger scripts every third one.
    [[nodiscard]] std::uint64_t stride() const { return spills || reader ? 3 : 1; }
};

class SqliteFaults : public SqliteTest {
 protected:
    // One call of the script. `state` is what earlier ones left for later ones.
    struct State {
        std::string turn;
        std::string work;
    };
    using Step = std::function<Result<>(Provider&, State&)>;

    static std::vector<Step> script(const Shape& shape = {}) {
        const std::string large(shape.spills ? 20'000 : 1, 'v');
        const auto send = [](Provider& store, State&) {
            return store.enqueue_for_orchestrator(start("A"), std::nullopt);
        };
        const auto fetch = [](Provider& store, State& state) -> Result<> {
            auto turn = store.fetch_orchestration_item({.lock_timeout = Duration{60'000}});
            if (!turn) {
                return std::unexpected{turn.error()};
            }
            state.turn = turn->value().lock_token;
            return {};
        };
        const auto commit = [large](Provider& store, State& state) {
            auto first = std::get<work::ActivityExecute>(activity("A", 3));
            first.input = large;
            return store.ack_orchestration_item(
                {.lock_token = state.turn,
                 .metadata = {.orchestration_name = "Hello", .orchestration_version = "1.0.0"},
                 .history_delta = {started(),
                                   {.event_id = 2,
                                    .kind = history::KeyValueSet{.key = "k", .value = large}}},
                 .worker_items = {first, activity("A", 4)},
                 .orchestrator_items = {start("B")}});
        };
        const auto take = [](Provider& store, State& state) -> Result<> {
            auto work = store.fetch_work_item({.lock_timeout = Duration{60'000}});
            if (!work) {
                return std::unexpected{work.error()};
            }
            state.work = work->value().lock_token;
            return {};
        };
        const auto finish = [](Provider& store, State& state) {
            return store.ack_work_item(
                state.work,
                WorkItem{work::ActivityCompleted{
                    .instance = "A", .execution_id = 1, .id = 3, .result = "1"}});
        };
        const auto remove = [](Provider& store, State&) -> Result<> {
            auto done = store.as_management_capability()->delete_instance("A", true);
            return done ? Result<>{} : std::unexpected{done.error()};
        };
        return {send, fetch, commit, take, finish, remove};
    }

    // Everything that can be read.
    static std::string observe(Provider& store) {
        auto& admin = *store.as_management_capability();
        std::string seen;
        for (const auto* instance : {"A", "B"}) {
            seen += std::to_string(store.read(instance).value().size()) + " events, " +
                    std::to_string(store.get_kv_value(instance, "k").value().value_or("").size()) +
                    " bytes of k; ";
        }
        const auto metrics = admin.get_system_metrics().value();
        const auto depths = admin.get_queue_depths().value();
        return seen + std::to_string(metrics.total_instances) + " instances, " +
               std::to_string(metrics.total_executions) + " executions, " +
               std::to_string(metrics.total_events) + " events, queued " +
               std::to_string(depths.orchestrator_queue) + " and " +
               std::to_string(depths.worker_queue);
    }

    // What is there after so many calls of the script, on a store that never fails.
    std::vector<std::string> expected(const Shape& shape) {
        const auto store = memory::open({.clock = clock});
        std::vector<std::string> states{observe(*store)};
        State state;
        for (const auto& step : script(shape)) {
            EXPECT_TRUE(step(*store, state));
            states.push_back(observe(*store));
        }
        return states;
    }

    // Plays the script until a call is refused; how many were done, and the error.
    std::pair<std::size_t, std::optional<Error>> play(FaultyVfs& vfs, const Shape& shape) {
        std::optional<Outsider> reader; // stays for longer than the store
        auto store = SqliteProvider::open(path, {.clock = clock, .vfs = vfs.name()});
        if (!store) {
            return {0, store.error()};
        }
        if (shape.spills) {
            (void)(*store)->inspect([](Connection& db) { db.execute("PRAGMA cache_size = 5"); });
        }
        if (shape.reader) {
            reader.emplace(path).query("BEGIN; SELECT count(*) FROM store");
        }
        State state;
        std::size_t done = 0;
        for (const auto& step : script(shape)) {
            if (auto result = step(**store, state); !result) {
                return {done, result.error()};
            }
            ++done;
        }
        return {done, std::nullopt};
    }

    // Opening is the same in every shape: the first one alone has faults there.
    std::uint64_t first_call(FaultyVfs& vfs, const Shape& shape) {
        if (!shape.spills && !shape.reader) {
            return 1;
        }
        const TemporaryDirectory own;
        vfs.set_fault(0, Fault::fails);
        const auto store =
            SqliteProvider::open(own.path() + "/store.db", {.clock = clock, .vfs = vfs.name()});
        EXPECT_TRUE(store);
        return vfs.calls();
    }

    void expect_all_or_nothing(Fault fault, const Shape& shape) {
        const auto states = expected(shape);
        FaultyVfs vfs;
        const FaultyVfs calm; // never fails, and does not wait for the machine's disk
        auto calls = first_call(vfs, shape);
        for (auto call = calls; call <= calls && !HasFailure(); call += shape.stride()) {
            const TemporaryDirectory own;
            path = own.path() + "/store.db";
            vfs.set_fault(call, fault);

            const auto [done, error] = play(vfs, shape);
            calls = error ? std::max(calls, call + shape.stride()) : vfs.calls();

            const auto reopened = try_open({.vfs = calm.name()});
            ASSERT_TRUE(reopened) << reopened.error().text();
            const auto seen = observe(**reopened);
            // The call that was refused may have been kept nevertheless when the fault came after
            // the commit was written: then the error said storage_failed.
            const auto kept = error && error->code == ErrorCode::storage_failed &&
                              done + 1 < states.size() && seen == states[done + 1];
            EXPECT_TRUE(seen == states[done] || kept)
                << "call " << call << ", done " << done << ", error "
                << (error ? error->text() : "none") << "\nexpected " << states[done]
                << "\nfound    " << seen;
        }
        EXPECT_GT(calls, 50U) << "the script does too little";
    }
};

class SqliteFaultsIn : public SqliteFaults, public ::testing::WithParamInterface<Shape> {};

// Sanitizers see the same code in every shape, and take ten times as long: one shape is enough.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool every_shape = false;
#else
constexpr bool every_shape = true;
#endif
#else
constexpr bool every_shape = true;
#endif

std::vector<Shape> shapes() {
    std::vector<Shape> all{
        {}, {.spills = true}, {.reader = true}, {.spills = true, .reader = true}};
    all.resize(every_shape ? all.size() : 1);
    return all;
}

INSTANTIATE_TEST_SUITE_P(EveryShape,
                         SqliteFaultsIn,
                         ::testing::ValuesIn(shapes()),
                         [](const auto& shape) {
                             return std::string{shape.param.spills ? "Spilling" : "Small"} +
                                    (shape.param.reader ? "BesideAReader" : "");
                         });

TEST_P(SqliteFaultsIn, ADiskThatFailsAtAnyCallLosesNothing) {
    expect_all_or_nothing(Fault::fails, GetParam());
}

TEST_P(SqliteFaultsIn, ADiskThatIsFullAtAnyCallLosesNothing) {
    expect_all_or_nothing(Fault::disk_full, GetParam());
}

TEST_F(SqliteFaults, AQuotaThatIsUsedUpRefusesACallAndPasses) {
    FaultyVfs vfs;
    auto store = SqliteProvider::open(
        path, {.clock = clock, .synchronous = Synchronous::normal, .vfs = vfs.name()});
    ASSERT_TRUE(store);
    vfs.set_fault(1, Fault::quota);
    const auto refused = (*store)->enqueue_for_orchestrator(start("A"), std::nullopt);
    vfs.set_fault(0, Fault::fails);

    ASSERT_FALSE(refused);
    EXPECT_EQ(name_of(refused.error().code), name_of(ErrorCode::unavailable));
    EXPECT_NE(refused.error().message.find("the disk is full"), std::string::npos)
        << refused.error().text();
    EXPECT_TRUE((*store)->enqueue_for_orchestrator(start("A"), std::nullopt));
}

TEST_F(SqliteFaults, AWriteThatFailsEndsTheStoreForThoseWhoReadOrWaitAsWell) {
    FaultyVfs vfs;
    const auto store =
        SqliteProvider::open(
            path, {.clock = clock, .synchronous = Synchronous::normal, .vfs = vfs.name()})
            .value();
    make_running(*store, "A");
    const auto seen = store->watch_instance({.instance = "A"}).value().revision;
    std::optional<Result<InstanceState>> watched;
    {
        const std::jthread watcher{[&] {
            watched = store->watch_instance(
                {.instance = "A", .seen_revision = seen, .timeout = std::chrono::hours{1}});
        }};
        while (store->sleepers() == 0) {
            std::this_thread::yield();
        }
        vfs.set_fault(1, Fault::fails);
        EXPECT_FALSE(store->enqueue_for_orchestrator(start("B"), std::nullopt));
    }
    ASSERT_TRUE(watched);
    ASSERT_FALSE(*watched);
    EXPECT_EQ(name_of(watched->error().code), name_of(ErrorCode::storage_failed));
    const auto read = store->read("A");
    ASSERT_FALSE(read);
    EXPECT_EQ(name_of(read.error().code), name_of(ErrorCode::storage_failed));
}

TEST_F(SqliteFaults, SharedMemoryWithoutRoomRefusesAndPasses) {
    FaultyVfs vfs;
    const Options options{.clock = clock, .synchronous = Synchronous::normal, .vfs = vfs.name()};
    vfs.set_no_room_for_memory(true);
    const auto refused = SqliteProvider::open(path, options);
    vfs.set_no_room_for_memory(false);

    ASSERT_FALSE(refused);
    EXPECT_EQ(name_of(refused.error().code), name_of(ErrorCode::unavailable));
    EXPECT_NE(refused.error().message.find("the disk is full"), std::string::npos)
        << refused.error().text();
    const auto store = SqliteProvider::open(path, options);
    ASSERT_TRUE(store) << store.error().text();
    EXPECT_TRUE((*store)->enqueue_for_orchestrator(start("A"), std::nullopt));
}

TEST_P(SqliteFaultsIn, AProcessThatEndsAtAnyCallLosesNothing) {
    expect_all_or_nothing(Fault::crash, GetParam());
}

// The end of a turn or of an activity is reported before it is on the disk. What depends on it
// waits for the disk: an activity that is handed out, and whatever tells the world something.
TEST_P(SqliteFaultsIn, APowerCutAtAnyCallLosesNothingThatGotOut) {
    const auto& shape = GetParam();
    const auto states = expected(shape);
    // P12: the commit is on the disk before its activity is taken; the lease of that need not be.
    //                                       send fetch commit take finish remove
    constexpr std::array<std::size_t, 7> kept{0, 1, 1, 1, 3, 3, 6};
    FaultyVfs vfs;
    const FaultyVfs calm;
    auto calls = first_call(vfs, shape);
    for (auto call = calls; call <= calls && !HasFailure(); call += shape.stride()) {
        const TemporaryDirectory own;
        path = own.path() + "/store.db";
        vfs.set_fault(call, Fault::crash);

        const auto [done, error] = play(vfs, shape);
        calls = error ? std::max(calls, call + shape.stride()) : vfs.calls();
        vfs.cut_power();

        const auto reopened = try_open({.vfs = calm.name()});
        ASSERT_TRUE(reopened) << reopened.error().text();
        const auto seen = observe(**reopened);
        const auto first = states.begin() + static_cast<std::ptrdiff_t>(kept.at(done));
        const auto last = states.begin() + static_cast<std::ptrdiff_t>(done) + (error ? 1 : 0);
        EXPECT_NE(std::find(first, std::next(last), seen), std::next(last))
            << "call " << call << ", done " << done << ", error "
            << (error ? error->text() : "none") << "\nexpected " << *first << "\n      or " << *last
            << "\nfound    " << seen;
    }
    EXPECT_GT(calls, 50U) << "the script does too little";
}

TEST_F(SqliteFaults, TheEndOfATurnOrActivityDoesNotWaitForTheDisk) {
    FaultyVfs vfs;
    const auto store = SqliteProvider::open(path, {.clock = clock, .vfs = vfs.name()}).value();
    const auto steps = script();
    constexpr std::array<bool, 5> waits{true, false, false, true, false};
    State state;
    for (std::size_t step = 0; step < waits.size(); ++step) {
        vfs.hold_syncs(!waits.at(step));
        ASSERT_TRUE(steps[step](*store, state));
        EXPECT_TRUE(vfs.hold_syncs(false)) << "step " << step << " waited for the disk";
    }
}

TEST_F(SqliteFaults, WhatNobodyWaitsForGetsToTheDiskToo) {
    FaultyVfs vfs;
    const auto store = SqliteProvider::open(path, {.clock = clock, .vfs = vfs.name()}).value();
    const auto steps = script();
    State state;
    ASSERT_TRUE(steps[0](*store, state));
    ASSERT_TRUE(steps[1](*store, state));
    const auto before = vfs.syncs();

    ASSERT_TRUE(steps[2](*store, state));

    const auto limit = system_clock()->steady() + std::chrono::seconds{20};
    while (vfs.syncs() == before && system_clock()->steady() < limit) {
        std::this_thread::yield();
    }
    EXPECT_GT(vfs.syncs(), before);
}

// Two providers on one file, as two processes would be.
class SqliteNeighboursFaults : public SqliteFaults {
 protected:
    SqliteNeighboursFaults() {
        const auto open_full = [&] {
            return SqliteProvider::open(path, {.clock = clock, .vfs = vfs.name()}).value();
        };
        here = open_full();
        there = open_full();
    }

    // `deed` happens there, and is committed but not on the disk: who reads here has to wait.
    void expect_not_told_early(const std::function<Result<>(SqliteProvider&)>& deed) {
        ASSERT_TRUE(here->read("A"));
        vfs.hold_syncs(true);
        std::atomic<bool> told = false;
        {
            const std::jthread doer{[&] { EXPECT_TRUE(deed(*there)); }};
            while (vfs.held_syncs() < 1) {
                std::this_thread::yield();
            }
            const std::jthread reader{[&] {
                EXPECT_TRUE(here->read("A"));
                told = true;
            }};
            while (vfs.held_syncs() < 2 && !told) {
                std::this_thread::yield();
            }
            EXPECT_FALSE(told) << "a power cut could undo what was told";
            vfs.hold_syncs(false);
        }
        EXPECT_TRUE(told);
    }

    FaultyVfs vfs;
    std::shared_ptr<SqliteProvider> here;
    std::shared_ptr<SqliteProvider> there;
};

TEST_F(SqliteNeighboursFaults, WhatIsAppendedThereIsNotToldHereBeforeItIsOnTheDisk) {
    make_running(*here, "A");
    expect_not_told_early([](SqliteProvider& store) {
        return store.append_with_execution(
            "A", 1, {{.event_id = 2, .kind = history::KeyValuesCleared{}}});
    });
}

TEST_F(SqliteNeighboursFaults, WhatIsPrunedThereIsNotMissedHereBeforeThatIsOnTheDisk) {
    for (const std::uint64_t execution : {1U, 2U}) {
        ASSERT_TRUE(here->enqueue_for_orchestrator(start("A"), std::nullopt));
        const auto turn = here->fetch_orchestration_item({.lock_timeout = Duration{1000}});
        ASSERT_TRUE(turn && *turn);
        ASSERT_TRUE(here->ack_orchestration_item({.lock_token = (*turn)->lock_token,
                                                  .execution_id = execution,
                                                  .metadata = {.status = ExecutionStatus::completed,
                                                               .orchestration_name = "Hello",
                                                               .orchestration_version = "1.0.0"},
                                                  .history_delta = {started()}}));
    }
    expect_not_told_early([](SqliteProvider& store) -> Result<> {
        const auto pruned = store.prune_executions("A", {.keep_last = 1});
        EXPECT_EQ(pruned.value().executions_deleted, 1U);
        return {};
    });
}

TEST_F(SqliteFaults, AFileThatCannotBeWrittenIsReported) {
    make_running(*open(), "A");
    FaultyVfs vfs;
    vfs.set_read_only(true);

    const auto opened = try_open({.vfs = vfs.name()});

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::storage_failed) << opened.error().text();
    EXPECT_NE(opened.error().message.find("cannot be written"), std::string::npos)
        << opened.error().text();
}

TEST_F(SqliteFaults, AFailedSyncEndsTheStore) {
    FaultyVfs vfs;
    auto store = SqliteProvider::open(path, {.clock = clock, .vfs = vfs.name()}).value();
    vfs.set_fault(1, Fault::crash);

    const auto refused = store->enqueue_for_orchestrator(start("A"), std::nullopt);
    vfs.set_fault(0, Fault::fails); // the disk is well again, but what it kept is unknown

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::storage_failed) << refused.error().text();
    EXPECT_FALSE(store->enqueue_for_orchestrator(start("B"), std::nullopt));
}

} // namespace
} // namespace durable::sqlite
