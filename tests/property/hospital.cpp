#include "property/hospital.hpp"

#include <durable/runtime_options.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace durable::property {

namespace {

using namespace std::chrono_literals; // NOLINT(google-build-using-namespace): durations read better
using Text = std::string;

constexpr Activity<Text(Text)> deadly{"K0"};
constexpr Activity<Text(Text)> slow{"S0"};
constexpr Orchestration<Text(Text)> suicide{"Suicide"};
constexpr Orchestration<Text(Text)> patience{"Patience"};
constexpr std::array<std::string_view, 3> patients{
    "patient 0", Hospital::deadly_patient, "patient 2"};

Task<Text> call_deadly(Context ctx, Text input) {
    const auto answer = co_await ctx.call(deadly, input).as_result();
    co_return answer ? "survived" : answer.error().kind;
}

Task<Text> call_slow(Context ctx, Text input) {
    const auto answer = co_await ctx.call(slow, input).as_result();
    co_return answer ? "cured" : answer.error().kind;
}

bool is_own(const WorkLease& lease) {
    return lease.item.name == deadly.name() || lease.item.name == slow.name();
}

bool is_poison(const WorkLease& lease) {
    return lease.attempt_count > RuntimeOptions{}.max_attempts;
}

WorkItem end_of(const WorkLease& lease) {
    const auto& item = lease.item;
    if (!is_poison(lease)) {
        return work::ActivityCompleted{.instance = item.instance,
                                       .execution_id = item.execution_id,
                                       .id = item.id,
                                       .result = "null"};
    }
    return work::ActivityFailed{.instance = item.instance,
                                .execution_id = item.execution_id,
                                .id = item.id,
                                .details = details::Poison{.attempt_count = lease.attempt_count,
                                                           .kind = details::PoisonKind::activity,
                                                           .instance = item.instance,
                                                           .activity_name = item.name}};
}

} // namespace

void Hospital::add_orchestrations(Registry& registry) {
    registry.add(suicide, call_deadly).add(patience, call_slow);
}

void Hospital::admit() {
    for (const auto id : patients) {
        const auto& illness = id == deadly_patient ? suicide : patience;
        (void)client_.start(illness, "", {.id = Text{id}}).value();
    }
}

Hospital::Day Hospital::open() {
    // Of the town's activities it has some, too.
    static const auto code = std::make_shared<const std::set<Text, std::less<>>>(
        std::set<Text, std::less<>>{"K0", "S0", "A0", "A1", "R0"});
    std::vector<WorkLease> held;
    while (auto taken =
               store_->fetch_work_item({.lock_timeout = 5s, .code = code, .one_suspect = true})
                   .value()) {
        held.push_back(*std::move(taken));
    }
    Day day;
    day.dies = std::ranges::any_of(held, [](const WorkLease& each) {
        return each.item.name == deadly.name() && !is_poison(each);
    });
    for (const auto& each : held) {
        const auto done = day.dies || !is_own(each)
                              ? store_->abandon_work_item(each.lock_token, std::nullopt, !day.dies)
                              : store_->ack_work_item(each.lock_token, end_of(each));
        if (!done) {
            day.trouble = done.error().text();
        }
    }
    return day;
}

bool Hospital::has_patients() const {
    return std::ranges::any_of(
        patients, [&](std::string_view id) { return !client_.status(Text{id})->ended(); });
}

std::string Hospital::judge() const {
    for (const auto id : patients) {
        const auto status = client_.status(Text{id}).value();
        if (status.output != (id == deadly_patient ? failure_kind::poison : "cured")) {
            return Text{id} + " is " + Text{name_of(status.status)} + " " + status.output;
        }
    }
    return {};
}

} // namespace durable::property
