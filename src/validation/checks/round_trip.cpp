// Events and messages come back exactly as they went in: every kind, every optional member, and
// members that a later version wrote and this one does not know.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <durable/codec.hpp>

namespace durable::validation {

namespace {

const std::string later = R"("later":{"a":[1,2.5,null]},"more":"é")";
const std::string awkward = "quote \" slash \\ / nul \x01 line \n é 🚀 \u2028 </script>";

std::vector<ErrorDetails> failures() {
    return {
        details::Infrastructure{
            .operation = "op", .message = awkward, .retryable = true, .extra = later},
        details::Configuration{
            .resource = "r", .has_message = true, .message = "m", .extra = later},
        details::Configuration{.resource = "r"},
        details::Application{
            .message = "boom", .retryable = true, .failure_kind = "Declined", .activity = "Charge"},
        details::Application{
            .kind = details::ApplicationKind::cancelled, .reason = "user", .extra = later},
        details::Poison{.attempt_count = 11,
                        .max_attempts = 10,
                        .kind = details::PoisonKind::activity,
                        .instance = "A",
                        .execution_id = 1,
                        .activity_name = "Charge",
                        .activity_id = 2,
                        .message = "{}"},
    };
}

std::vector<WorkItem> every_message() {
    std::vector<WorkItem> all{
        work::StartOrchestration{.instance = "A",
                                 .orchestration = "Full",
                                 .input = awkward,
                                 .version = "1.2.3",
                                 .parent_instance = "P",
                                 .parent_id = 7,
                                 .execution_id = 3,
                                 .parent_execution_id = 4,
                                 .extra = later},
        work::StartOrchestration{.instance = "A", .orchestration = "Bare", .input = ""},
        work::ContinueAsNew{.instance = "A",
                            .orchestration = "Full",
                            .input = awkward,
                            .version = "1.2.3",
                            .carry_forward_events = {{"inbox", "m1"}, {"inbox", ""}},
                            .initial_custom_status = "phase-2",
                            .parent_instance = "P",
                            .parent_id = 7,
                            .parent_execution_id = 4,
                            .carry_forward_raised = {{{"approved", awkward}, {"approved", ""}}},
                            .extra = later},
        work::ContinueAsNew{.instance = "A", .orchestration = "Bare", .input = "{}"},
        work::ActivityCompleted{
            .instance = "A", .execution_id = 1, .id = 2, .result = awkward, .extra = later},
        work::TimerFired{
            .instance = "A", .execution_id = 1, .id = 5, .fire_at_ms = 1, .extra = later},
        work::ExternalRaised{.instance = "A", .name = "n", .data = awkward, .extra = later},
        work::QueueMessage{.instance = "A", .name = "inbox", .data = awkward, .extra = later},
        work::SubOrchCompleted{.parent_instance = "A",
                               .parent_execution_id = 1,
                               .parent_id = 8,
                               .result = awkward,
                               .extra = later},
        work::CancelInstance{.instance = "A", .reason = awkward, .extra = later},
    };
    for (const auto& failure : failures()) {
        all.emplace_back(work::ActivityFailed{
            .instance = "A", .execution_id = 1, .id = 2, .details = failure, .extra = later});
        all.emplace_back(work::SubOrchFailed{
            .parent_instance = "A", .parent_execution_id = 1, .parent_id = 8, .details = failure});
    }
    return all;
}

std::vector<history::Kind> kinds() {
    std::vector<history::Kind> all{
        history::OrchestrationStarted{.name = "Full",
                                      .version = "1.0.0",
                                      .input = awkward,
                                      .parent_instance = "P",
                                      .parent_id = 4,
                                      .carry_forward_events = {{{"inbox", "m1"}, {"inbox", "m2"}}},
                                      .initial_custom_status = "phase-2",
                                      .parent_execution_id = 9,
                                      .carry_forward_raised = {{{"approved", "yes"}}}},
        history::OrchestrationStarted{.name = "Bare", .version = "1.0.0", .input = ""},
        history::OrchestrationCompleted{.output = awkward},
        history::OrchestrationContinuedAsNew{.input = "{\"n\":2}"},
        history::OrchestrationCancelRequested{.reason = "user"},
        history::ActivityScheduled{
            .name = "Render", .input = "f1", .session_id = "sess-1", .tag = "gpu"},
        history::ActivityScheduled{.name = "Charge", .input = "42"},
        history::ActivityCompleted{.result = awkward},
        history::ActivityCancelRequested{.reason = "dropped_future"},
        history::TimerCreated{.fire_at_ms = ~std::uint64_t{0}},
        history::TimerFired{.fire_at_ms = 0},
        history::TimerCancelRequested{.reason = "dropped_future"},
        history::ExternalSubscribed{.name = "approved"},
        history::ExternalEvent{.name = "approved", .data = awkward},
        history::ExternalSubscribedCancelled{.reason = "dropped_future"},
        history::QueueSubscribed{.name = "inbox"},
        history::QueueEventDelivered{.name = "inbox", .data = awkward},
        history::QueueSubscriptionCancelled{.reason = "orchestration_terminal"},
        history::OrchestrationChained{.name = "Audit", .instance = "audit-1", .input = "{}"},
        history::SubOrchestrationScheduled{.name = "Ship", .instance = "sub::8", .input = "{}"},
        history::SubOrchestrationCompleted{.result = "shipped"},
        history::SubOrchestrationCancelRequested{.reason = "dropped_future"},
        history::CustomStatusUpdated{.status = "50%"},
        history::CustomStatusUpdated{.status = std::nullopt},
        history::KeyValueSet{.key = awkward, .value = awkward, .last_updated_at_ms = 17},
        history::KeyValueCleared{.key = "counter"},
        history::KeyValuesCleared{},
        history::PatchMarked{.id = "new-rates"},
    };
    for (const auto& failure : failures()) {
        all.emplace_back(history::OrchestrationFailed{failure});
        all.emplace_back(history::ActivityFailed{failure});
        all.emplace_back(history::SubOrchestrationFailed{failure});
    }
    return all;
}

// One event of every kind, with gaps between the ids, and with copies inside that name another
// instance: storage does not trust these copies and does not correct them.
std::vector<HistoryEvent> events() {
    std::vector<HistoryEvent> all;
    for (auto& kind : kinds()) {
        all.push_back({.event_id = 1 + 10 * all.size(),
                       .source_event_id =
                           all.size() % 2 == 0 ? std::nullopt : std::optional<std::uint64_t>{3},
                       .instance_id = "another",
                       .execution_id = 77,
                       .timestamp_ms = 1'760'000'000'000 + all.size(),
                       .engine_version = "0.1.26",
                       .kind = std::move(kind),
                       .location = all.size() % 3 == 0 ? "order.cpp:42" : "",
                       .extra = all.size() % 4 == 0 ? later : ""});
    }
    return all;
}

template <class Things>
void expect_same_bytes(const Things& got, const Things& wanted, Where where = Where::current()) {
    expect_eq(got.size(), wanted.size(), "as many come out as went in", where);
    for (std::size_t index = 0; index < wanted.size(); ++index) {
        expect_eq(value_of(encode(got[index]), where),
                  value_of(encode(wanted[index]), where),
                  "what comes out is what went in",
                  where);
        expect(got[index] == wanted[index], "and means the same", where);
    }
}

void every_message_comes_out_as_it_was_enqueued(Factory& factory) {
    const Store store{factory};
    for (const auto& message : every_message()) {
        store.send(message);
    }

    expect_same_bytes(store.fetch_turn().messages, every_message());
}

void every_message_comes_out_as_it_was_committed(Factory& factory) {
    const Store store{factory};
    store.start("sender");
    store.take_turn(
        "sender",
        {.metadata = named(), .history_delta = {started()}, .orchestrator_items = every_message()});

    expect_same_bytes(store.fetch_turn().messages, every_message());
}

void every_event_comes_out_as_it_was_committed(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A", {.metadata = named(), .history_delta = events()});
    store.poke("A");

    expect_same_bytes(store.read("A"), events());
    expect_same_bytes(store.fetch_turn().history, events());
}

void every_event_comes_out_as_it_was_appended(Factory& factory) {
    const Store store{factory};

    expect_ok(store->append_with_execution("A", 1, events()), "events are appended");

    expect_same_bytes(store.read("A", 1), events());
}

void activities_come_out_as_they_went_in(Factory& factory) {
    const Store store{factory};
    const work::ActivityExecute full{.instance = "A",
                                     .execution_id = 3,
                                     .id = 2,
                                     .name = "Render",
                                     .input = awkward,
                                     .session_id = "sess-1",
                                     .tag = "gpu",
                                     .orchestration = "Movie",
                                     .orchestration_version = "1.0.0",
                                     .call_id = 1,
                                     .call_attempt = 2,
                                     .extra = later};
    const work::ActivityExecute bare{.instance = "A", .execution_id = 1, .name = "Charge"};
    const std::vector<WorkItem> wanted{full, bare, full, bare};
    store.enqueue(full);
    store.enqueue(bare);
    store.start("A");
    store.take_turn(
        "A", {.metadata = named(), .history_delta = {started()}, .worker_items = {full, bare}});
    const FetchWork everything{.lock_timeout = long_lease,
                               .session =
                                   SessionClaim{.owner_id = "owner", .lock_timeout = long_lease},
                               .tags = TagFilter::any()};

    std::vector<WorkItem> got;
    while (const auto lease = store.try_fetch_work(everything)) {
        got.emplace_back(lease->item);
    }

    expect_same_bytes(got, wanted);
}

void completions_come_out_as_they_were_given(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    std::vector<WorkItem> wanted;
    for (const auto& message : every_message()) {
        if (std::holds_alternative<work::ActivityCompleted>(message) ||
            std::holds_alternative<work::ActivityFailed>(message)) {
            wanted.push_back(message);
            store.enqueue(activity("A", wanted.size()));
            expect_ok(store->ack_work_item(store.fetch_work().lock_token, message), "completed");
        }
    }

    expect_same_bytes(store.fetch_turn().messages, wanted);
}

} // namespace

CheckList round_trip_checks() {
    static constexpr Check list[] = {
        {"every_message_comes_out_as_it_was_enqueued",
         "round_trip",
         "P4",
         every_message_comes_out_as_it_was_enqueued},
        {"every_message_comes_out_as_it_was_committed",
         "round_trip",
         "P4",
         every_message_comes_out_as_it_was_committed},
        {"every_event_comes_out_as_it_was_committed",
         "round_trip",
         "P8",
         every_event_comes_out_as_it_was_committed},
        {"every_event_comes_out_as_it_was_appended",
         "round_trip",
         "P8",
         every_event_comes_out_as_it_was_appended},
        {"activities_come_out_as_they_went_in",
         "round_trip",
         "P4",
         activities_come_out_as_they_went_in},
        {"completions_come_out_as_they_were_given",
         "round_trip",
         "P4",
         completions_come_out_as_they_were_given},
    };
    return list;
}

} // namespace durable::validation
