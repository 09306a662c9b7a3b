// P11: watch_instance returns the state that clients wait for, as soon as it changes.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/waiting.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

InstanceState
look(const Store& store, const std::string& instance = "A", Where where = Where::current()) {
    return value_of(store->watch_instance({.instance = instance}), where);
}

// A thread that waits for a revision other than the one seen.
class Watcher {
 public:
    Watcher(const Store& store, std::uint64_t seen, Where where = Where::current())
        : waiting_{store, [&store, seen, where](std::stop_token stop) {
                       return value_of(store->watch_instance({.instance = "A",
                                                              .seen_revision = seen,
                                                              .timeout = long_poll,
                                                              .stop = std::move(stop)}),
                                       where);
                   }} {
        waiting_.expect_waiting("without a change, a watch waits", where);
    }
    InstanceState woken(std::string_view sentence, Where where = Where::current()) {
        return waiting_.answer(sentence, where);
    }
    Waiting<InstanceState>& operator*() { return waiting_; }

 private:
    Waiting<InstanceState> waiting_;
};

void a_watch_tells_the_state_of_an_instance(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {status_set(2, "half")});
    continue_as_new(store, "A", 2);
    const auto running = look(store);
    expect(running.exists, "the instance exists");
    expect_eq(running.orchestration_name, "TestOrch", "its name");
    expect_eq(running.orchestration_version, "1.0.0", "its version");
    expect_eq(running.execution_id, 2, "its current execution");
    expect_eq(running.status, ExecutionStatus::running, "its status");
    expect_eq(running.output, std::nullopt, "it has no output yet");
    expect_eq(running.custom_status, CustomStatus{"half", 1}, "its custom status");

    complete(store, "A", 2);

    const auto done = look(store);
    expect_eq(done.status, ExecutionStatus::completed, "its end");
    expect_eq(done.output, "done", "its output");
}

// One whose failure is among other events of its last commit, or was committed before them.
void the_state_of_a_failed_instance_tells_why(Factory& factory) {
    const Store store{factory};
    const ErrorDetails why = details::Application{
        .kind = details::ApplicationKind::cancelled, .message = "no truck", .retryable = false};
    const auto failed = event(3, history::OrchestrationFailed{.details = why});
    store.make_running("A");
    expect(!look(store).failure, "what runs has not failed");

    store.send(completion("A", 1));
    store.take_turn("A",
                    {.metadata = ended(ExecutionStatus::failed, "no truck"),
                     .history_delta = {scheduled(2, "Task"), failed}});

    expect_eq(look(store).status, ExecutionStatus::failed, "it has failed");
    expect(look(store).failure == why, "the state tells why, in full");

    store.send(completion("A", 1));
    store.take_turn("A", {.history_delta = {scheduled(4, "Task")}});
    expect(look(store).failure == why, "also when a later commit added events");
}

void an_unknown_instance_has_revision_zero(Factory& factory) {
    const Store store{factory};
    const auto unknown = look(store);
    expect(!unknown.exists, "there is no such instance");
    expect_eq(unknown.revision, 0, "its revision is 0");

    store.start("A");

    expect(!look(store).exists, "a message does not make one");
    expect_eq(look(store).revision, 0, "and is no change");
}

void every_commit_is_a_new_revision(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    auto last = look(store).revision;
    expect_at_least(last, 1, "an instance that exists has a revision");

    for (int turn = 0; turn < 3; ++turn) {
        append_turn(store, "A", 1, {});
        const auto next = look(store).revision;
        expect_at_least(next, last + 1, "revisions grow, even with an empty commit");
        last = next;
    }
}

void what_is_no_commit_is_no_new_revision(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.make_running("B");
    const auto before = look(store).revision;

    store.poke("A");
    const auto turn = store.fetch_turn();
    expect_ok(store->renew_orchestration_item_lock(turn.lock_token, long_lease), "renewed");
    expect_error(store.try_commit(turn, {.history_delta = {started(1)}}),
                 ErrorCode::invalid_argument,
                 "an event id that is taken is refused");
    store.abandon(turn);
    store.take_turn("A");
    const auto after = look(store).revision;
    append_turn(store, "B", 1, {});

    expect_at_least(after, before + 1, "the commit is a change");
    expect_eq(look(store).revision, after, "another instance's commit is not");
}

void a_watch_with_an_old_revision_answers_at_once(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    const auto seen = look(store).revision;
    append_turn(store, "A", 1, {});

    const auto state = value_of(
        store->watch_instance({.instance = "A", .seen_revision = seen, .timeout = long_poll}));

    expect_ne(state.revision, seen, "there is news");
}

void a_watch_is_woken_by_the_first_commit(Factory& factory) {
    const auto store = long_polling_store(factory);
    Watcher watcher{store, 0};

    store.make_running("A");

    expect(watcher.woken("a watch is woken when its instance comes to be").exists, "it exists");
}

void a_watch_is_woken_by_a_commit(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    store.make_running("B");
    const auto seen = look(store).revision;
    Watcher watcher{store, seen};
    append_turn(store, "B", 1, {});
    (*watcher).expect_waiting("another instance's commit is not this one's news");

    append_turn(store, "A", 1, {status_set(2, "news")});

    const auto state = watcher.woken("a watch is woken by a commit");
    expect_at_least(state.revision, seen + 1, "with a new revision");
    expect_eq(state.custom_status, CustomStatus{"news", 1}, "and the state it came with");
}

void every_watcher_is_woken(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    const auto seen = look(store).revision;
    Watcher first{store, seen};
    Watcher second{store, seen};
    Watcher third{store, seen};

    complete(store, "A");

    for (auto* watcher : {&first, &second, &third}) {
        expect_eq(watcher->woken("every watcher is woken").status,
                  ExecutionStatus::completed,
                  "and sees the end");
    }
}

// As a client waits for the end: providers may answer changes before it.
void a_watch_for_the_end_is_woken_by_it(Factory& factory) {
    const auto store = long_polling_store(factory);
    for (const auto* const id : {"A", "B"}) {
        store.make_running(id);
        Waiting<InstanceState> watcher{
            store, [&store, id](const std::stop_token& stop) {
                InstanceState state;
                do {
                    state = value_of(store->watch_instance({.instance = id,
                                                            .seen_revision = state.revision,
                                                            .timeout = long_poll,
                                                            .stop = stop,
                                                            .ended_only = true}));
                } while (state.status == ExecutionStatus::running && !stop.stop_requested());
                return state;
            }};
        watcher.expect_waiting("what runs has not ended");
        append_turn(store, id, 1, {status_set(2, "half")});
        watcher.expect_waiting("a turn is not the end");

        const bool fails = std::string_view{id} == "B";
        const auto end = fails ? ExecutionStatus::failed : ExecutionStatus::completed;
        store.poke(id);
        store.commit(store.fetch_turn(), {.metadata = ended(end)});

        expect_eq(watcher.answer("a watch for the end is woken by it").status, end, "as it was");
    }
}

void a_watch_for_an_end_that_was_answers_at_once(Factory& factory) {
    const Store store{factory};
    store.make_ended("A");

    const auto state = value_of(
        store->watch_instance({.instance = "A", .timeout = long_poll, .ended_only = true}));

    expect_eq(state.status, ExecutionStatus::completed, "it has ended");
}

void a_watch_for_the_end_is_woken_by_deletion(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    const auto seen = look(store).revision;
    Waiting<InstanceState> watcher{store, [&store, seen](const std::stop_token& stop) {
                                       return value_of(store->watch_instance({.instance = "A",
                                                                              .seen_revision = seen,
                                                                              .timeout = long_poll,
                                                                              .stop = stop,
                                                                              .ended_only = true}));
                                   }};
    watcher.expect_waiting("what runs has not ended");

    expect_ok(store.admin().delete_instance("A", true), "deleted by force");

    expect(!watcher.answer("a watch for the end is woken by deletion").exists, "it is gone");
}

void a_watch_is_woken_by_deletion(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_ended("A");
    const auto seen = look(store).revision;
    Watcher watcher{store, seen};

    expect_ok(store.admin().delete_instance("A", false), "an ended instance is deleted");

    const auto gone = watcher.woken("a watch is woken by deletion");
    expect(!gone.exists, "the instance is gone");
    expect_ne(gone.revision, seen, "which is a change");
    store.make_running("A");
    const auto reborn = look(store);
    expect(reborn.exists, "the id is used again");
    expect_ne(reborn.revision, seen, "and not taken for the instance it was");
}

void a_watch_ends_when_its_time_is_over(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    const auto seen = look(store).revision;
    Watcher watcher{store, seen};

    // For as long as it takes: on a busy machine the watch may begin late, and its time with it.
    for (auto waited = 0ms; waited < patience && !(*watcher).finished_within(2ms); waited += 2ms) {
        store.pass_time(1s);
    }

    const auto state = watcher.woken("a watch ends when its time is over");
    expect_eq(state.revision, seen, "with the state as it was");
    expect(state.exists, "with the state as it was");
}

void a_watch_ends_when_told_to_stop(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    const auto seen = look(store).revision;
    Watcher watcher{store, seen};

    (*watcher).request_stop();

    expect_eq(watcher.woken("a watch that is told to stop returns").revision,
              seen,
              "with the state as it was");
}

} // namespace

CheckList watch_checks() {
    static constexpr Check list[] = {
        {"a_watch_tells_the_state_of_an_instance",
         "watch",
         "P11",
         a_watch_tells_the_state_of_an_instance},
        {"the_state_of_a_failed_instance_tells_why",
         "watch",
         "P11",
         the_state_of_a_failed_instance_tells_why},
        {"an_unknown_instance_has_revision_zero",
         "watch",
         "P11",
         an_unknown_instance_has_revision_zero},
        {"every_commit_is_a_new_revision", "watch", "P11", every_commit_is_a_new_revision},
        {"what_is_no_commit_is_no_new_revision",
         "watch",
         "P11",
         what_is_no_commit_is_no_new_revision},
        {"a_watch_with_an_old_revision_answers_at_once",
         "watch",
         "P11",
         a_watch_with_an_old_revision_answers_at_once},
        {"a_watch_is_woken_by_the_first_commit",
         "watch",
         "P11",
         a_watch_is_woken_by_the_first_commit},
        {"a_watch_is_woken_by_a_commit", "watch", "P11", a_watch_is_woken_by_a_commit},
        {"every_watcher_is_woken", "watch", "P11", every_watcher_is_woken},
        {"a_watch_for_the_end_is_woken_by_it", "watch", "P11", a_watch_for_the_end_is_woken_by_it},
        {"a_watch_for_an_end_that_was_answers_at_once",
         "watch",
         "P11",
         a_watch_for_an_end_that_was_answers_at_once},
        {"a_watch_for_the_end_is_woken_by_deletion",
         "watch",
         "P11",
         a_watch_for_the_end_is_woken_by_deletion},
        {"a_watch_is_woken_by_deletion", "watch", "P11", a_watch_is_woken_by_deletion},
        {"a_watch_ends_when_its_time_is_over", "watch", "P11", a_watch_ends_when_its_time_is_over},
        {"a_watch_ends_when_told_to_stop", "watch", "P11", a_watch_ends_when_told_to_stop},
    };
    return list;
}

} // namespace durable::validation
