#include "validation/support/support.hpp"

#include "base/mutex.hpp"

#include <durable/version.hpp>

#include <utility>
#include <variant>

namespace durable::validation {

namespace {

// Waits in real time, on a WakeUp without notifier: threads may only sleep through a Clock.
void wait_for_real(Duration duration) {
    Clock& clock = *system_clock();
    Mutex mutex;
    WakeUp never_notified{mutex, clock};
    const MutexLock lock{mutex};
    const auto until = add_saturating(clock.steady(), duration);
    for (auto now = clock.steady(); now < until; now = clock.steady()) {
        never_notified.wait(lock, until - now);
    }
}

template <class Things>
std::vector<std::string> types_in(const Things& things, auto type_of) {
    std::vector<std::string> types;
    for (const auto& thing : things) {
        types.emplace_back(type_of(thing));
    }
    return types;
}

} // namespace

// ---- Items, events, metadata ---------------------------------------------------------------

work::StartOrchestration start_of(const std::string& instance) {
    return {.instance = instance, .orchestration = "TestOrch", .input = "{}", .version = "1.0.0"};
}

work::ContinueAsNew continue_as_new_of(const std::string& instance) {
    return {.instance = instance, .orchestration = "TestOrch", .input = "{}", .version = "1.0.0"};
}

work::ExternalRaised poke_of(const std::string& instance) {
    return {.instance = instance, .name = "poke", .data = "{}"};
}

work::ActivityExecute activity(const std::string& instance, std::uint64_t id) {
    return {.instance = instance,
            .execution_id = 1,
            .id = id,
            .name = "Activity" + std::to_string(id),
            .input = "{}"};
}

work::ActivityCompleted completion(const std::string& instance, std::uint64_t id) {
    return {.instance = instance, .execution_id = 1, .id = id, .result = "\"done\""};
}

work::ActivityCompleted completion_of(const WorkLease& lease) {
    return {.instance = lease.item.instance,
            .execution_id = lease.item.execution_id,
            .id = lease.item.id,
            .result = "\"done\""};
}

HistoryEvent event(std::uint64_t id, history::Kind kind) {
    return {.event_id = id,
            .timestamp_ms = 1'760'000'000'000,
            .engine_version = engine_version_text(),
            .kind = std::move(kind)};
}

HistoryEvent started(std::uint64_t id) {
    return event(
        id, history::OrchestrationStarted{.name = "TestOrch", .version = "1.0.0", .input = "{}"});
}

HistoryEvent scheduled(std::uint64_t id, const std::string& activity_name) {
    return event(id, history::ActivityScheduled{.name = activity_name, .input = "{}"});
}

HistoryEvent completed(std::uint64_t id, const std::string& output) {
    return event(id, history::OrchestrationCompleted{.output = output});
}

ExecutionMetadata named(const std::string& orchestration, const std::string& version) {
    return {.orchestration_name = orchestration, .orchestration_version = version};
}

ExecutionMetadata ended(ExecutionStatus status, const std::string& output) {
    auto metadata = named();
    metadata.status = status;
    metadata.output = output;
    return metadata;
}

std::vector<std::uint64_t> completion_ids(const std::vector<WorkItem>& messages) {
    std::vector<std::uint64_t> ids;
    for (const auto& message : messages) {
        if (const auto* completed = std::get_if<work::ActivityCompleted>(&message)) {
            ids.push_back(completed->id);
        }
    }
    return ids;
}

std::vector<std::string> types_of(const std::vector<WorkItem>& messages) {
    return types_in(messages, [](const WorkItem& item) { return type_name(item); });
}

std::vector<std::string> types_of(const std::vector<HistoryEvent>& events) {
    return types_in(events, [](const HistoryEvent& stored) { return type_name(stored.kind); });
}

// ---- The store under test --------------------------------------------------------------------

Store::Store(Factory& factory, Where where)
    : factory_{factory}, provider_{value_of(factory.create(), where)} {
    expect(provider_ != nullptr, "the factory makes a store", where);
}

ProviderAdmin& Store::admin() const {
    auto* admin = provider_->as_management_capability();
    if (admin == nullptr) {
        skip("this provider has no management half");
    }
    return *admin;
}

void Store::reopen(Where where) {
    provider_.reset();
    provider_ = need(factory_.reopen(), where);
}

Duration Store::lock_timeout() const {
    return factory_.lock_timeout();
}

Instant Store::now() const {
    const auto* manual = factory_.clock();
    return manual != nullptr ? manual->now() : system_clock()->now();
}

void Store::pass_time(Duration duration) const {
    if (auto* manual = factory_.clock()) {
        manual->advance(duration);
    } else {
        wait_for_real(duration);
    }
}

void Store::outlive_lease() const {
    pass_time(lock_timeout() + std::chrono::milliseconds{100});
}

void Store::send(const WorkItem& item, Where where) const {
    expect_ok(provider_->enqueue_for_orchestrator(item, std::nullopt), "a message is taken", where);
}

void Store::send_later(const WorkItem& item, Duration delay, Where where) const {
    expect_ok(provider_->enqueue_for_orchestrator(item, delay), "a message is taken", where);
}

void Store::start(const std::string& instance, Where where) const {
    send(start_of(instance), where);
}

void Store::poke(const std::string& instance, Where where) const {
    send(poke_of(instance), where);
}

void Store::start_pending(const std::string& instance,
                          std::optional<Duration> delay,
                          Where where) const {
    expect_ok(provider_->start_instance(start_of(instance), delay), "an instance is made", where);
}

OrchestrationItem Store::fetch_turn(Duration lease, Where where) const {
    auto turn = try_fetch_turn(lease, where);
    expect(turn.has_value(), "a turn is ready", where);
    return *std::move(turn);
}

std::optional<OrchestrationItem> Store::try_fetch_turn(Duration lease, Where where) const {
    return try_fetch_turn(FetchOrchestration{.lock_timeout = lease}, where);
}

std::optional<OrchestrationItem> Store::try_fetch_turn(const FetchOrchestration& request,
                                                       Where where) const {
    return value_of(provider_->fetch_orchestration_item(request), where);
}

void Store::expect_no_turn(std::string_view sentence, Where where) const {
    if (const auto turn = try_fetch_turn(long_lease, where)) {
        fail_check("does not hold: " + std::string{sentence} + "; expected no turn, got " +
                       show(turn->instance) + " with " + show(turn->messages),
                   where);
    }
}

void Store::commit(const OrchestrationItem& turn, TurnCommit commit, Where where) const {
    expect_ok(try_commit(turn, std::move(commit)), "a turn commits", where);
}

Result<> Store::try_commit(const OrchestrationItem& turn, TurnCommit commit) const {
    commit.lock_token = turn.lock_token;
    for (auto& added : commit.history_delta) {
        if (added.instance_id.empty()) {
            added.instance_id = turn.instance;
            added.execution_id = commit.execution_id;
        }
    }
    return provider_->ack_orchestration_item(commit);
}

void Store::abandon(const OrchestrationItem& turn,
                    std::optional<Duration> delay,
                    bool ignore_attempt,
                    Where where) const {
    give_back(turn, {.delay = delay, .ignore_attempt = ignore_attempt}, where);
}

void Store::give_back(const OrchestrationItem& turn, AbandonTurn how, Where where) const {
    how.lock_token = turn.lock_token;
    expect_ok(provider_->abandon_orchestration_item(how), "a turn is given back", where);
}

void Store::hide(const OrchestrationItem& turn, Duration delay, Where where) const {
    give_back(turn, {.delay = delay, .whole_instance = true}, where);
}

void Store::park(const OrchestrationItem& turn, const std::string& reason, Where where) const {
    give_back(turn, {.parked = reason}, where);
}

void Store::take_turn(const std::string& instance, TurnCommit commit, Where where) const {
    const auto turn = fetch_turn(long_lease, where);
    expect_eq(turn.instance, instance, "the next turn is of the instance at hand", where);
    this->commit(turn, std::move(commit), where);
}

void Store::make_running(const std::string& instance, Where where) const {
    start(instance, where);
    take_turn(instance, {.metadata = named(), .history_delta = {started()}}, where);
}

void Store::make_ended(const std::string& instance,
                       ExecutionStatus status,
                       const std::optional<std::string>& parent,
                       Where where) const {
    auto metadata = ended(status);
    metadata.parent_instance_id = parent;
    start(instance, where);
    take_turn(instance, {.metadata = std::move(metadata), .history_delta = {started()}}, where);
}

void Store::enqueue(const work::ActivityExecute& item, Where where) const {
    expect_ok(provider_->enqueue_for_worker(item), "an activity is queued", where);
}

WorkLease Store::fetch_work(Duration lease, Where where) const {
    return fetch_work(FetchWork{.lock_timeout = lease}, where);
}

WorkLease Store::fetch_work(const FetchWork& request, Where where) const {
    auto work = try_fetch_work(request, where);
    expect(work.has_value(), "an activity is ready", where);
    return *std::move(work);
}

std::optional<WorkLease> Store::try_fetch_work(Duration lease, Where where) const {
    return try_fetch_work(FetchWork{.lock_timeout = lease}, where);
}

std::optional<WorkLease> Store::try_fetch_work(const FetchWork& request, Where where) const {
    return value_of(provider_->fetch_work_item(request), where);
}

void Store::expect_no_work(std::string_view sentence, Where where) const {
    if (const auto work = try_fetch_work(long_lease, where)) {
        fail_check("does not hold: " + std::string{sentence} + "; expected no activity, got " +
                       show(work->item.name) + " of " + show(work->item.instance),
                   where);
    }
}

void Store::finish(const WorkLease& lease, Where where) const {
    expect_ok(provider_->ack_work_item(lease.lock_token, completion_of(lease)),
              "an activity is finished",
              where);
}

void Store::discard(const WorkLease& lease, Where where) const {
    expect_ok(provider_->ack_work_item(lease.lock_token, std::nullopt),
              "an activity is removed without a completion",
              where);
}

void Store::abandon(const WorkLease& lease,
                    std::optional<Duration> delay,
                    bool ignore_attempt,
                    Where where) const {
    expect_ok(provider_->abandon_work_item(lease.lock_token, delay, ignore_attempt),
              "an activity is given back",
              where);
}

std::vector<HistoryEvent> Store::read(const std::string& instance, Where where) const {
    return value_of(provider_->read(instance), where);
}

std::vector<HistoryEvent>
Store::read(const std::string& instance, std::uint64_t execution_id, Where where) const {
    return value_of(provider_->read_with_execution(instance, execution_id), where);
}

bool Store::exists(const std::string& instance, Where where) const {
    const auto info = admin().get_instance_info(instance);
    if (!info) {
        expect_error(info, ErrorCode::not_found, "an unknown instance is not found", where);
    }
    return info.has_value();
}

InstanceState Store::state(const std::string& instance, Where where) const {
    return value_of(provider_->watch_instance({.instance = instance}), where);
}

ManualClock& manual_clock(Factory& factory) {
    if (factory.clock() == nullptr) {
        skip("needs a clock that moves by hand");
    }
    return *factory.clock();
}

Store long_polling_store(Factory& factory, Where where) {
    if (!factory.long_polling()) {
        skip("this provider polls short");
    }
    return Store{factory, where};
}

} // namespace durable::validation
