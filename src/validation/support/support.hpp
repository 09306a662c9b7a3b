// The vocabulary of checks: items and events to send, and Store, a fresh store under test with
// verbs. A verb fails the check when the provider refuses; its try_ twin returns the answer.

#pragma once

#include "validation/support/expect.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/validation.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::validation {

// Longer than any check: a lease that is not meant to run out.
inline constexpr Duration long_lease = std::chrono::seconds{30};

// ---- Items, events, metadata ---------------------------------------------------------------

[[nodiscard]] work::StartOrchestration start_of(const std::string& instance); // TestOrch 1.0.0
[[nodiscard]] work::ContinueAsNew continue_as_new_of(const std::string& instance);
[[nodiscard]] work::ExternalRaised poke_of(const std::string& instance);
[[nodiscard]] work::ActivityExecute activity(const std::string& instance, std::uint64_t id);
[[nodiscard]] work::ActivityCompleted completion(const std::string& instance, std::uint64_t id);
[[nodiscard]] work::ActivityCompleted completion_of(const WorkLease& lease);

[[nodiscard]] HistoryEvent event(std::uint64_t id, history::Kind kind);
[[nodiscard]] HistoryEvent started(std::uint64_t id = 1); // OrchestrationStarted, TestOrch 1.0.0
[[nodiscard]] HistoryEvent scheduled(std::uint64_t id, const std::string& activity_name);
[[nodiscard]] HistoryEvent completed(std::uint64_t id, const std::string& output = "done");

// The metadata that makes an instance known: TestOrch 1.0.0.
[[nodiscard]] ExecutionMetadata named(const std::string& orchestration = "TestOrch",
                                      const std::string& version = "1.0.0");
// The same, with an end.
[[nodiscard]] ExecutionMetadata ended(ExecutionStatus status, const std::string& output = "done");

// The ids of the ActivityCompleted among the messages, in their order.
[[nodiscard]] std::vector<std::uint64_t> completion_ids(const std::vector<WorkItem>& messages);

// The wire names: {"StartOrchestration", "ExternalRaised"}, {"OrchestrationStarted"}.
[[nodiscard]] std::vector<std::string> types_of(const std::vector<WorkItem>& messages);
[[nodiscard]] std::vector<std::string> types_of(const std::vector<HistoryEvent>& events);

// ---- The store under test --------------------------------------------------------------------

class Store {
 public:
    explicit Store(Factory& factory, Where where = Where::current());

    [[nodiscard]] Factory& factory() const noexcept { return factory_; }
    [[nodiscard]] Provider& provider() const noexcept { return *provider_; }
    Provider* operator->() const noexcept { return provider_.get(); }
    [[nodiscard]] ProviderAdmin& admin() const; // skips the check when there is none

    // Closes the store and opens it again on the same data; skips when that is not possible.
    void reopen(Where where = Where::current());

    // -- time
    [[nodiscard]] Duration lock_timeout() const; // for leases that are meant to run out
    [[nodiscard]] Instant now() const;
    void pass_time(Duration duration) const; // moves the manual clock, or waits in real time
    void outlive_lease() const;              // passes lock_timeout and a little more

    // -- messages to orchestrations
    void send(const WorkItem& item, Where where = Where::current()) const;
    void send_later(const WorkItem& item, Duration delay, Where where = Where::current()) const;
    void start(const std::string& instance, Where where = Where::current()) const;
    void poke(const std::string& instance, Where where = Where::current()) const;
    // By start_instance: the instance exists from then on, pending until its first turn.
    void start_pending(const std::string& instance,
                       std::optional<Duration> delay = std::nullopt,
                       Where where = Where::current()) const;

    // -- turns; `where` is the check's line
    [[nodiscard]] OrchestrationItem fetch_turn(Duration lease = long_lease,
                                               Where where = Where::current()) const;
    [[nodiscard]] std::optional<OrchestrationItem>
    try_fetch_turn(Duration lease = long_lease, Where where = Where::current()) const;
    [[nodiscard]] std::optional<OrchestrationItem>
    try_fetch_turn(const FetchOrchestration& request, Where where = Where::current()) const;
    void expect_no_turn(std::string_view sentence, Where where = Where::current()) const;

    // The token comes from the turn; events without instance and execution get the turn's.
    void commit(const OrchestrationItem& turn,
                TurnCommit commit = {},
                Where where = Where::current()) const;
    [[nodiscard]] Result<> try_commit(const OrchestrationItem& turn, TurnCommit commit = {}) const;
    void abandon(const OrchestrationItem& turn,
                 std::optional<Duration> delay = std::nullopt,
                 bool ignore_attempt = false,
                 Where where = Where::current()) const;
    // The same with all options; the token comes from the turn.
    void
    give_back(const OrchestrationItem& turn, AbandonTurn how, Where where = Where::current()) const;
    // Hides the whole instance, newcomers included.
    void hide(const OrchestrationItem& turn, Duration delay, Where where = Where::current()) const;
    void park(const OrchestrationItem& turn,
              const std::string& reason,
              Where where = Where::current()) const;
    // Fetches the next turn, which must be this instance's, and commits it.
    void take_turn(const std::string& instance,
                   TurnCommit commit = {},
                   Where where = Where::current()) const;

    // -- whole instances; the queue must hold nothing else that is deliverable
    // Started and running, nothing queued, nothing leased.
    void make_running(const std::string& instance, Where where = Where::current()) const;
    void make_ended(const std::string& instance,
                    ExecutionStatus status = ExecutionStatus::completed,
                    const std::optional<std::string>& parent = std::nullopt,
                    Where where = Where::current()) const;

    // -- activities
    void enqueue(const work::ActivityExecute& item, Where where = Where::current()) const;
    [[nodiscard]] WorkLease fetch_work(Duration lease = long_lease,
                                       Where where = Where::current()) const;
    [[nodiscard]] WorkLease fetch_work(const FetchWork& request,
                                       Where where = Where::current()) const;
    [[nodiscard]] std::optional<WorkLease> try_fetch_work(Duration lease = long_lease,
                                                          Where where = Where::current()) const;
    [[nodiscard]] std::optional<WorkLease> try_fetch_work(const FetchWork& request,
                                                          Where where = Where::current()) const;
    void expect_no_work(std::string_view sentence, Where where = Where::current()) const;
    // Ends the item with a completion, or without one.
    void finish(const WorkLease& lease, Where where = Where::current()) const;
    void discard(const WorkLease& lease, Where where = Where::current()) const;
    void abandon(const WorkLease& lease,
                 std::optional<Duration> delay = std::nullopt,
                 bool ignore_attempt = false,
                 Where where = Where::current()) const;

    // -- reading
    [[nodiscard]] std::vector<HistoryEvent> read(const std::string& instance,
                                                 Where where = Where::current()) const;
    [[nodiscard]] std::vector<HistoryEvent> read(const std::string& instance,
                                                 std::uint64_t execution_id,
                                                 Where where = Where::current()) const;
    [[nodiscard]] bool exists(const std::string& instance, Where where = Where::current()) const;
    [[nodiscard]] InstanceState state(const std::string& instance,
                                      Where where = Where::current()) const;

 private:
    Factory& factory_;
    std::shared_ptr<Provider> provider_;
};

// These skip the check when the factory does not offer what it needs.
[[nodiscard]] ManualClock& manual_clock(Factory& factory);
[[nodiscard]] Store long_polling_store(Factory& factory, Where where = Where::current());

} // namespace durable::validation
