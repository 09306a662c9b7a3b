// Groups whose owner goes while they work: destructors in the frames of the operands that a group
// gives up may destroy the group itself, its operands, or the task that awaits it. AddressSanitizer
// sees what goes wrong here.

#include "replay/fixture.hpp"

#include <durable/combine.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::replay_test::lifetime_test {

namespace {

constexpr auto empty = "orchestration panicked: this operation or task is empty: it was moved away "
                       "or cancelled";

// ---- The task that awaits the group goes with a loser

struct Job {
    std::optional<Task<int>> task;
};

struct StopJob { // when the watcher goes, the job goes
    explicit StopJob(Job* watched) : job{watched} {}
    StopJob(const StopJob&) = delete;
    StopJob& operator=(const StopJob&) = delete;
    ~StopJob() { job->task.reset(); }
    Job* job;
};

Task<int> quick(Context ctx) {
    co_await ctx.sleep(1s);
    co_return 1;
}

Task<int> watcher(Context ctx, Job* job) {
    const StopJob guard{job};
    co_await ctx.sleep(10h);
    co_return 2;
}

Task<int> race_of_two(Context ctx, Job* job) {
    auto both = race{watcher(ctx, job), quick(ctx)};
    auto first = co_await both;
    co_return static_cast<int>(first.index());
}

Task<int> race_of_a_range(Context ctx, Job* job) {
    std::vector<Task<int>> both;
    both.push_back(watcher(ctx, job));
    both.push_back(quick(ctx));
    auto first = co_await race{std::move(both)};
    co_return static_cast<int>(first.index);
}

Task<int> race_in_a_race(Context ctx, Job* job) {
    auto inner = race{watcher(ctx, job), ctx.sleep(10h)};
    auto both = race{std::move(inner), quick(ctx)};
    auto first = co_await both;
    co_return static_cast<int>(first.index());
}

Task<std::string> run_job(Context ctx, Task<int> (*work)(Context, Job*)) {
    Job job;
    job.task = work(ctx, &job);
    job.task->start();
    co_await ctx.sleep(1min);
    co_return job.task ? "the job is there" : "the job is gone";
}

Task<std::string> job_of_two(Context ctx, std::string) {
    co_return co_await run_job(ctx, &race_of_two);
}

Task<std::string> job_of_a_range(Context ctx, std::string) {
    co_return co_await run_job(ctx, &race_of_a_range);
}

Task<std::string> job_of_a_race(Context ctx, std::string) {
    co_return co_await run_job(ctx, &race_in_a_race);
}

TEST(Lifetime, ALoserMayDestroyTheTaskThatAwaitsTheRace) {
    given(started(), timer(), timer(), timer())
        .when(job_of_two, timer_fires(4), timer_fires(2))
        .completes("the job is gone");
}

TEST(Lifetime, ALoserMayDestroyTheTaskThatAwaitsARaceOfARange) {
    given(started(), timer(), timer(), timer())
        .when(job_of_a_range, timer_fires(4), timer_fires(2))
        .completes("the job is gone");
}

TEST(Lifetime, ALoserInAnInnerGroupMayDestroyTheTaskThatAwaitsTheOuterOne) {
    fresh(job_of_a_race, timer_fires(5), timer_fires(2)).completes("the job is gone");
}

// ---- A group that is decided when it starts

struct Held;
struct Drop {
    void operator()(Held* held) const noexcept;
};
using Dropper = std::unique_ptr<Held, Drop>; // in a frame: what it drops goes with the frame

Task<int> carries(Context ctx, Dropper) {
    co_await ctx.sleep(10h);
    co_return 2;
}

using Inner = race<Operation<std::string>, Task<int>>;
using Outer = race<Inner, Task<int>>;

struct Held {
    std::unique_ptr<Inner> inner;
    std::unique_ptr<Outer> outer;
    std::unique_ptr<Operation<std::string>> operation;
};

void Drop::operator()(Held* held) const noexcept {
    held->operation.reset();
    held->inner.reset();
    held->outer.reset();
}

TEST(Lifetime, ALoserMayDestroyTheGroupThatStarts) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto held = std::make_unique<Held>();
                auto a = ctx.call_raw("A", "");
                co_await ctx.sleep(1s);
                held->inner =
                    std::make_unique<Inner>(std::move(a), carries(ctx, Dropper{held.get()}));
                co_await *held->inner;
                co_return "not reached";
            },
            completion(2, "a"),
            timer_fires(3))
        .fails(empty);
}

TEST(Lifetime, ALoserMayDestroyTheGroupAroundTheOneThatStarts) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto held = std::make_unique<Held>();
                auto a = ctx.call_raw("A", "");
                co_await ctx.sleep(1s);
                auto inner = Inner{std::move(a), carries(ctx, Dropper{held.get()})};
                held->outer = std::make_unique<Outer>(std::move(inner), carries(ctx, Dropper{}));
                co_await *held->outer;
                co_return "not reached";
            },
            completion(2, "a"),
            timer_fires(3))
        .fails(empty);
}

// ---- A borrowed winner that its owner drops before the race is taken

TEST(Lifetime, ALoserMayDropTheBorrowedWinner) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto held = std::make_unique<Held>();
                held->operation = std::make_unique<Operation<std::string>>(ctx.call_raw("A", ""));
                auto both = race{*held->operation, carries(ctx, Dropper{held.get()})};
                auto first = co_await both;
                co_return std::to_string(first.index());
            },
            completion(2, "a"))
        .fails(empty);
}

template <class Operands>
Task<int> drop_after(Context ctx, Operands* operands) {
    co_await ctx.sleep(2s);
    operands->clear();
    co_await ctx.sleep(1s);
    co_return 1;
}

TEST(Lifetime, ARaceOverARangeThatWasClearedSaysSo) {
    given(started(), timer(), timer(), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<void>> operations;
                operations.push_back(ctx.sleep(1s));
                operations.push_back(ctx.sleep(10h));
                auto both = all{race{operations}, drop_after(ctx, &operations)};
                const auto [first, rest] = co_await both;
                co_return "winner " + std::to_string(first.index);
            },
            timer_fires(2),
            timer_fires(4),
            timer_fires(8))
        .fails(empty);
}

Task<int> drop_the_first_after(Context ctx, std::vector<Operation<void>>* operations) {
    co_await ctx.sleep(2s);
    operations->erase(operations->begin());
    co_await ctx.sleep(1s);
    co_return 1;
}

TEST(Lifetime, ARaceWhoseWinnerWasDroppedSaysSoAndTakesNoOther) {
    given(started(), timer(), timer(), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<void>> operations;
                operations.push_back(ctx.sleep(1s));
                operations.push_back(ctx.sleep(10h));
                auto both =
                    all{race{operations[0], operations[1]}, drop_the_first_after(ctx, &operations)};
                const auto [first, rest] = co_await both;
                co_return "winner " + std::to_string(first.index());
            },
            timer_fires(2),
            timer_fires(4),
            timer_fires(7))
        .fails(empty);
}

} // namespace

} // namespace durable::replay_test::lifetime_test
