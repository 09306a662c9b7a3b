#include "day/orders.hpp"

#include <chrono>
#include <utility>

namespace durable::simulation {

namespace {

using namespace std::chrono_literals;

constexpr Activity<std::string(std::string)> work{"Work"};
constexpr Orchestration<std::string(std::string)> parcel{"Parcel"};
constexpr RetryPolicy patient{.max_attempts = 1000, .first_delay = 10s, .max_delay = 5min};

void count(Context ctx) {
    ctx.kv().set("count", ctx.kv().get<int>("count").value_or(0) + 1);
}

Duration pause_of(const std::string& id) {
    return std::chrono::minutes{1 + static_cast<int>(id.back() - '0') * 3};
}

Task<std::string> run_order(Context ctx, std::string id) {
    std::string receipt = id;
    const auto reserved = co_await ctx.call(work, "reserved", {.retry = patient});
    receipt += " " + reserved;
    count(ctx);
    co_await ctx.sleep(pause_of(id));
    const auto payment = co_await ctx.within(longest_payment, ctx.wait_for(paid));
    receipt += payment ? " paid" : " unpaid";
    count(ctx);
    auto [packed, carried] =
        co_await all{ctx.call(work, "packed", {.retry = patient}), ctx.call(parcel, id)};
    receipt += " " + packed + " " + carried;
    count(ctx);
    co_return receipt;
}

Task<std::string> run_parcel(Context ctx, std::string) {
    co_await ctx.sleep(2min);
    co_return co_await ctx.call(work, "carried", {.retry = patient});
}

// Counts down, every ten minutes by one.
Task<int> run_watch(Context ctx, int left) {
    co_await ctx.sleep(10min);
    const auto seen = co_await ctx.call(work, "seen", {.retry = patient});
    count(ctx);
    if (left == 0 || seen != "seen") {
        co_return ctx.kv().get<int>("count").value_or(0);
    }
    co_return co_await ctx.continue_as_new(watch, left - 1);
}

} // namespace

Registry make_registry(OnRun on_run) {
    Registry registry;
    registry.add(work, [run = std::move(on_run)](ActivityContext& ctx, const std::string& what) {
        run(ctx);
        return what;
    });
    registry.add(process_order, run_order);
    registry.add(parcel, run_parcel);
    registry.add(watch, run_watch);
    return registry;
}

std::string expected_result(std::string_view id, bool is_paid) {
    return std::string{id} + " reserved " + (is_paid ? "paid" : "unpaid") + " packed carried";
}

} // namespace durable::simulation
