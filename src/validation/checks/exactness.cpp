// Exactly what was asked for, and exactly what was stored: neighbours with similar names, empty and
// absent, characters that tools like to tidy away, filters that say "and".

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

// One is a prefix of another, one matches another as a pattern, two differ by case.
const std::vector<std::string> look_alikes{"a", "a-1", "a_1", "a%", "A", "a "};

void look_alikes_share_nothing(Factory& factory) {
    const Store store{factory};
    for (const auto& id : look_alikes) {
        make_running_with(store, id, {kv_set(2, "of", id), status_set(3, id)});
    }
    for (const auto& id : look_alikes) {
        expect_eq(value_of(store->get_kv_all_values(id)), Values{{"of", id}}, "keys of " + id);
        expect_eq(store.read(id).size(), std::size_t{3}, "events of " + id);
        const auto status = value_of(store->get_custom_status(id, 0));
        expect(status && status->status == id, "the custom status of " + id);
    }
    auto& admin = store.admin();
    expect_ok(admin.delete_instance("a_1", true), "one of them is deleted");
    for (const auto& id : look_alikes) {
        expect_eq(store.exists(id), id != "a_1", "only the one that was named: " + id);
    }
}

// Line ends, byte order marks and composed letters are content.
void text_is_not_tidied(Factory& factory) {
    const std::vector<std::string> texts{"\r\n\r",
                                         "\xef\xbb\xbfmark",
                                         "e\xcc\x81 \xc3\xa9",
                                         "\ttab ",
                                         "  ",
                                         "0",
                                         "null",
                                         "-0.0",
                                         "1e5"};
    const Store store{factory};
    std::vector<HistoryEvent> events;
    for (const auto& text : texts) {
        events.push_back(kv_set(events.size() + 2, text, text));
    }
    make_running_with(store, "A", events);
    for (const auto& text : texts) {
        auto item = activity("A", 100);
        item.input = text;
        store.enqueue(item);
        auto message = poke_of("A");
        message.data = text;
        store.send(message);
    }

    const auto turn = store.fetch_turn();
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto& text = texts[i];
        expect_eq(kv(store, "A", text), text, "a value and its key");
        expect_eq(store.fetch_work().item.input, text, "an activity's input");
        auto message = poke_of("A");
        message.data = text;
        expect(i < turn.messages.size() && turn.messages[i] == WorkItem{message}, "a message");
    }
}

void empty_is_not_absent(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {status_set(2, ""), kv_set(3, "", "")});

    const auto status = value_of(store->get_custom_status("A", 0));
    expect(status && status->status == "", "an empty custom status is a status");
    expect_eq(kv(store, "A", ""), "", "an empty value under an empty key is a value");

    store.poke("A");
    store.take_turn("A", {.metadata = ended(ExecutionStatus::completed, "")});
    const auto info = value_of(store.admin().get_instance_info("A"));
    expect(info.output == "", "an empty output is an output");
}

void a_running_execution_has_no_end(Factory& factory) {
    const Store store{factory};
    make_executions(store, "A", 2);
    auto& admin = store.admin();

    expect(value_of(admin.get_execution_info("A", 1)).completed_at.has_value(),
           "an execution that ended has a time of its end");
    expect(!value_of(admin.get_execution_info("A", 2)).completed_at.has_value(),
           "a running execution has none");
    expect_eq(value_of(admin.get_system_metrics()).total_executions,
              std::uint64_t{2},
              "executions are counted, not instances");
}

void only_the_execution_that_is_named_loses_an_activity(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn(
        "A",
        {.metadata = named(), .history_delta = {started()}, .worker_items = {activity("A", 2)}});
    store.poke("A");
    store.take_turn(
        "A", {.cancelled_activities = {{.instance = "A", .execution_id = 2, .activity_id = 2}}});

    expect_eq(store.fetch_work().item.id, std::uint64_t{2}, "another execution's stays");
}

void pruning_in_bulk_respects_the_filter(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    make_executions(store, "old", 2);
    complete(store, "old", 2);
    store.pass_time(10ms);
    const auto between = store.now();
    store.pass_time(10ms);
    make_executions(store, "new", 2);
    complete(store, "new", 2);

    expect_ok(admin.prune_executions_bulk({.completed_before = between}, {}), "prune");

    expect_eq(value_of(admin.list_executions("old")).size(), std::size_t{1}, "what ended before");
    expect_eq(value_of(admin.list_executions("new")).size(), std::size_t{2}, "and nothing later");
}

void a_child_without_its_parent_can_be_deleted(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.make_ended("child", ExecutionStatus::completed, "never existed");
    store.make_ended("other", ExecutionStatus::completed, "never existed");

    expect_ok(admin.delete_instance("child", false), "there is no parent to delete it with");
    expect_eq(value_of(admin.delete_instance_bulk({})).instances_deleted,
              std::uint64_t{1},
              "in bulk, it counts as a root");
    expect(!store.exists("child") && !store.exists("other"), "both are gone");
}

void a_revision_does_not_fall_when_its_instance_is_deleted(Factory& factory) {
    const Store store{factory};
    store.make_ended("A");
    const auto before = value_of(store->watch_instance({.instance = "A"})).revision;

    expect_ok(store.admin().delete_instance("A", false), "an ended instance is deleted");

    const auto after = value_of(store->watch_instance({.instance = "A"}));
    expect(!after.exists, "it is gone");
    expect(after.revision > before, "a watcher sees a newer revision");
}

} // namespace

CheckList exactness_checks() {
    static constexpr Check list[] = {
        {"look_alikes_share_nothing", "exactness", "P1", look_alikes_share_nothing},
        {"text_is_not_tidied", "exactness", "P1", text_is_not_tidied},
        {"empty_is_not_absent", "exactness", "P1", empty_is_not_absent},
        {"a_running_execution_has_no_end", "exactness", "P1", a_running_execution_has_no_end},
        {"only_the_execution_that_is_named_loses_an_activity",
         "exactness",
         "P2",
         only_the_execution_that_is_named_loses_an_activity},
        {"pruning_in_bulk_respects_the_filter",
         "exactness",
         "P8",
         pruning_in_bulk_respects_the_filter},
        {"a_child_without_its_parent_can_be_deleted",
         "exactness",
         "P10",
         a_child_without_its_parent_can_be_deleted},
        {"a_revision_does_not_fall_when_its_instance_is_deleted",
         "exactness",
         "P11",
         a_revision_does_not_fall_when_its_instance_is_deleted},
    };
    return list;
}

} // namespace durable::validation
