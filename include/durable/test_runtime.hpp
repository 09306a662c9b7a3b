// TestRuntime: runs orchestrations in a unit test: one thread, no sleeping, time moved by hand.
//
//     durable::TestRuntime test{registry};
//     const auto run = test.client().start(reminder, "ana", {.id = "r-1"}).value();
//     EXPECT_EQ(test.finish(run).value(), "reminded after 24 h"); // takes no time
//
// Activities run on the calling thread, one after the other; bind fakes in the registry. Nothing
// happens outside of the calls below, so a test can look at every state in between. A client call
// that waits (Run::wait, wait_for_kv, ...) therefore returns at once: with the state as it is, or
// with timed_out.
//
// An activity's ctx.sleep() moves the clock. Turns that become due meanwhile run, other activities
// do not: a timeout or a cancellation reaches the sleeping activity, as in a Runtime. An activity
// that polls its stop token without sleeping is never asked to stop.
//
// No activity sleeps beyond the limit of the finish() or advance() that runs it. There sleep()
// throws, the activity's result is not stored, and the next call runs it again from its beginning,
// as the same attempt. Outside of them, an activity that sleeps for ever fails.
//
// Code that it runs may destroy it: the current call goes on to its end.

#pragma once

#include <durable/client.hpp>
#include <durable/provider.hpp>
#include <durable/registry.hpp>
#include <durable/result.hpp>
#include <durable/runtime.hpp>
#include <durable/runtime_options.hpp>
#include <durable/testing.hpp>
#include <durable/time.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable {

class TestRuntime final {
 public:
    struct Options {
        RuntimeOptions runtime{};             // its clock is ignored
        std::shared_ptr<ManualClock> clock{}; // nullptr: a new one
        std::shared_ptr<Provider> provider{}; // on that clock; nullptr: a new one in memory
        // After so many turns and activities without time passing, the call fails as one that does
        // not come to rest: an orchestration that continues as new for ever must not hang its test.
        // Also how often an activity may sleep, or turns may run while it sleeps, before it fails.
        std::size_t max_steps = 100'000;
    };

    // Throws std::invalid_argument like Runtime::start.
    explicit TestRuntime(Registry registry);
    TestRuntime(Registry registry, Options options);
    TestRuntime(const TestRuntime&) = delete;
    TestRuntime& operator=(const TestRuntime&) = delete;
    ~TestRuntime();

    [[nodiscard]] Client client() const;
    [[nodiscard]] ManualClock& clock() const noexcept;
    [[nodiscard]] const std::shared_ptr<Provider>& provider() const noexcept;

    // One turn, or one activity. False: there was none that could run now.
    bool run_turn();
    bool run_activity();

    // Runs all turns and activities that can run now. Time passes only if an activity sleeps.
    // False: it does not come to rest, see Options::max_steps.
    bool run_until_idle();

    // The next moment at which a timer fires, or a delay, a backoff or a lease ends; also of
    // earlier runtimes on the store, if it reports them (QueueDepths::next_due).
    [[nodiscard]] std::optional<Instant> next_event() const;

    // Lets `by` pass, stopping at every moment in between at which something happens; however long
    // it is, the rest costs nothing. Throws std::runtime_error when it does not come to rest,
    // std::invalid_argument when `by` is negative.
    void advance(Timespan by);

    // Runs, and moves the clock from event to event, until the instance has ended.
    //   timed_out             nothing is left that could happen, `limit` has passed on the clock
    //                         (the message says what is due next, or which activity
    //                         sleeps beyond it), or it does not come to rest
    //   invalid_argument      `limit` is negative, or the id is none
    //   not_found             there is no such instance
    //   orchestration_failed  it, or a child of it, is parked or needs code that is not there, and
    //                         this registry will not change: the message says what differs, or
    //                         which orchestration or activity is missing
    [[nodiscard]] Result<OrchestrationStatus> finish(const std::string& id,
                                                     Timespan limit = std::chrono::hours{24 * 365});
    template <class R>
    [[nodiscard]] Result<R> finish(const Run<R>& run,
                                   Timespan limit = std::chrono::hours{24 * 365}) {
        auto status = finish(run.id(), limit);
        if (!status) {
            return std::unexpected{std::move(status).error()};
        }
        return run.wait(Duration::zero());
    }

    // Forgets every frame in memory, as a restart would: what follows is replayed.
    void forget();

    // The events of the last execution, as they are stored; none before it has begun, and none of
    // an instance that does not exist. Management::history has those of earlier executions, and
    // says not_found.
    [[nodiscard]] std::vector<HistoryEvent> history(const std::string& id) const;
    // To keep in a file (testing::print_history) and to replay: with the KV it began with, see
    // testing::save_history. not_found: there is no such instance.
    [[nodiscard]] Result<std::vector<HistoryEvent>> saved_history(const std::string& id) const;
    [[nodiscard]] std::vector<ParkedInstance> parked() const;

 private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

} // namespace durable
