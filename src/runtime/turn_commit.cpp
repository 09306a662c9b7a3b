#include "runtime/turn_commit.hpp"

#include "base/utf8.hpp"

#include <utility>

namespace durable::runtime {

using observability::Metric;
using observability::Where;

namespace {

constexpr int retries = 5;
constexpr Duration first_retry{10};

Where where_of(const OrchestrationItem& item) {
    return {.instance = item.instance, .execution_id = item.execution_id};
}

Result<> ack(Node& node, const OrchestrationItem& item, const TurnCommit& commit) {
    auto delay = first_retry;
    for (int retry = 0;; ++retry) {
        // P2: after an error nothing was applied, so the same commit can be tried again.
        auto stored = node.provider->ack_orchestration_item(commit);
        if (stored || !stored.error().retryable() || retry == retries) {
            return stored;
        }
        node.observer.log(LogLevel::warn,
                          where_of(item),
                          "turn not stored, will try again",
                          {{.name = "error", .value = stored.error().message}});
        if (!node.pause(delay, node.force_stop.get_token())) {
            return stored;
        }
        delay *= 2;
    }
}

} // namespace

Committed commit_turn(Node& node, const OrchestrationItem& item, const TurnCommit& commit) {
    const auto stored = ack(node, item, commit);
    if (stored) {
        return Committed::yes;
    }
    const auto& error = stored.error();
    if (error.code == ErrorCode::lock_lost) {
        node.observer.count(Metric::turns_discarded, {"lock_lost"});
        node.observer.log(LogLevel::info,
                          where_of(item),
                          "turn discarded: the lease was lost",
                          {{.name = "error", .value = error.message}});
        return Committed::lost;
    }
    node.observer.count(Metric::turns_discarded, {name_of(error.code)});
    node.observer.count(Metric::orchestration_infrastructure_errors, {item.orchestration_name});
    node.observer.log(LogLevel::error,
                      where_of(item),
                      "turn discarded: the store refused it",
                      {{.name = "error", .value = error.text()}});
    node.diagnostics.remember(item.instance, error.text());
    give_back(node,
              item,
              {.delay = node.options.unregistered_backoff.delay(item.attempt_count),
               .count_attempt = true,
               .parked = "the store refused its turn: " + error.text()});
    return Committed::refused;
}

void give_back(Node& node, const OrchestrationItem& item, GiveBack how) {
    if (how.parked) {
        how.parked = utf8::printable(*how.parked); // a store refuses other text: the lease stays
    }
    const auto given =
        node.provider->abandon_orchestration_item({.lock_token = item.lock_token,
                                                   .delay = how.delay,
                                                   .ignore_attempt = !how.count_attempt,
                                                   .whole_instance = how.delay.has_value(),
                                                   .parked = std::move(how.parked)});
    if (!given && given.error().code != ErrorCode::lock_lost) {
        // Another worker gets it when the lease expires.
        node.observer.log(LogLevel::warn,
                          where_of(item),
                          "cannot give a turn back",
                          {{.name = "error", .value = given.error().message}});
    }
}

} // namespace durable::runtime
