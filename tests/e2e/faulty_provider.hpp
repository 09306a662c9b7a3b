// A store that can be told to misbehave.

#pragma once

#include "base/mutex.hpp"
#include "observability/forwarding_provider.hpp"

#include <durable/provider.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace durable::e2e {

// How one call fails.
struct Fault {
    ErrorCode code = ErrorCode::unavailable;
    bool after_the_deed = false; // it was done all the same
};

class FaultyProvider final : public ForwardingProvider {
 public:
    using ForwardingProvider::ForwardingProvider;

    // Each call of the method consumes one planned fault.
    void fail_next_turn_ack(Fault fault, int times = 1) { plan(turn_acks_, fault, times); }
    void fail_next_turn_fetch(Fault fault, int times = 1) { plan(turn_fetches_, fault, times); }
    void fail_next_work_ack(Fault fault, int times = 1) { plan(work_acks_, fault, times); }
    void fail_next_work_fetch(Fault fault, int times = 1) { plan(work_fetches_, fault, times); }
    void fail_next_kv_read(Fault fault, int times = 1) { plan(kv_reads_, fault, times); }

    // Raises the attempt counts that the next fetches report.
    std::atomic<std::uint32_t> more_turn_attempts = 0;
    std::atomic<std::uint32_t> more_work_attempts = 0;
    // Hands out what the dispatcher said it cannot replay.
    std::atomic<bool> ignore_filter = false;
    // Hands out what the node has no code for.
    std::atomic<bool> ignore_code = false;
    // Answers as if the history could not be decoded.
    std::atomic<bool> unreadable_history = false;
    // Forgets that the dispatcher has frames.
    std::atomic<bool> ignore_cache = false;
    // What happens while a fetch of work is on its way back.
    std::function<void()> after_work_fetch;
    // Changes turns before they are stored.
    std::function<TurnCommit(TurnCommit)> change_turn_ack;

    std::atomic<int> turn_fetches = 0;
    std::atomic<int> turn_acks = 0;
    std::atomic<int> turn_renewals = 0;
    std::atomic<int> work_fetches = 0;
    std::atomic<int> work_renewals = 0;

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        ++turn_fetches;
        if (const auto fault = take(turn_fetches_)) {
            return fail(fault->code, "planned", "fetch_orchestration_item");
        }
        auto asked = request;
        if (ignore_filter) {
            asked.filter.reset();
        }
        if (ignore_code) {
            asked.code = nullptr;
        }
        if (ignore_cache) {
            asked.cached = nullptr;
        }
        auto item = inner().fetch_orchestration_item(asked);
        if (item && *item) {
            (*item)->attempt_count += more_turn_attempts;
            if (unreadable_history) {
                (*item)->history.clear();
                (*item)->history_error = "planned: not JSON";
            }
        }
        return item;
    }

    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        ++turn_acks;
        return faulty(turn_acks_, "ack_orchestration_item", [&] {
            return inner().ack_orchestration_item(change_turn_ack ? change_turn_ack(commit)
                                                                  : commit);
        });
    }

    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        ++work_fetches;
        if (const auto fault = take(work_fetches_)) {
            return fail(fault->code, "planned", "fetch_work_item");
        }
        auto asked = request;
        if (ignore_code) {
            asked.code = nullptr;
        }
        auto lease = inner().fetch_work_item(asked);
        if (lease && *lease) {
            (*lease)->attempt_count += more_work_attempts;
        }
        if (after_work_fetch) {
            after_work_fetch();
        }
        return lease;
    }

    Result<> ack_work_item(const std::string& token,
                           const std::optional<WorkItem>& completion) override {
        return faulty(
            work_acks_, "ack_work_item", [&] { return inner().ack_work_item(token, completion); });
    }

    Result<> renew_orchestration_item_lock(const std::string& token, Duration extend_for) override {
        auto renewed = inner().renew_orchestration_item_lock(token, extend_for);
        ++turn_renewals;
        return renewed;
    }

    Result<> renew_work_item_lock(const std::string& token, Duration extend_for) override {
        ++work_renewals;
        return inner().renew_work_item_lock(token, extend_for);
    }

    Result<std::optional<std::string>> get_kv_value(const std::string& instance,
                                                    const std::string& key) override {
        if (const auto fault = take(kv_reads_)) {
            return fail(fault->code, "planned", "get_kv_value");
        }
        return inner().get_kv_value(instance, key);
    }

 private:
    using Plan = std::deque<Fault>;

    void plan(Plan& plan, Fault fault, int times) {
        const MutexLock lock{mutex_};
        plan.insert(plan.end(), static_cast<std::size_t>(times), fault);
    }
    std::optional<Fault> take(Plan& plan) {
        const MutexLock lock{mutex_};
        if (plan.empty()) {
            return std::nullopt;
        }
        const auto fault = plan.front();
        plan.pop_front();
        return fault;
    }
    template <class Call>
    Result<> faulty(Plan& plan, std::string operation, Call call) {
        const auto fault = take(plan);
        if (!fault || fault->after_the_deed) {
            auto done = call();
            if (!fault || !done) {
                return done;
            }
        }
        return fail(fault->code, "planned", std::move(operation));
    }

    Mutex mutex_;
    Plan turn_acks_;
    Plan turn_fetches_;
    Plan work_acks_;
    Plan work_fetches_;
    Plan kv_reads_;
};

} // namespace durable::e2e
