// Large and many: nothing is cut off, refused or lost because there is much of it. Page sizes,
// column lengths and limits on parameters are where stores lose data.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <set>

namespace durable::validation {

namespace {

constexpr std::uint64_t many = 1'200; // more than any page

std::vector<HistoryEvent> events(std::uint64_t first, std::uint64_t count) {
    std::vector<HistoryEvent> all;
    for (auto id = first; id < first + count; ++id) {
        all.push_back(scheduled(id, "A" + std::to_string(id)));
    }
    return all;
}

void a_long_history_is_read_in_full(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", events(2, many));
    store.poke("A");

    const auto turn = store.fetch_turn();

    expect_eq(turn.history.size(), many + 1, "a turn gets the whole history");
    expect_eq(turn.history.back().event_id, many + 1, "up to its last event");
    expect_eq(store.read("A").size(), many + 1, "read gives all events");
    expect_eq(store.read("A", 1).size(), many + 1, "read_with_execution gives all events");
}

void a_commit_schedules_many_activities(Factory& factory) {
    const Store store{factory};
    store.start("A");
    TurnCommit commit{.metadata = named(), .history_delta = {started()}};
    for (std::uint64_t id = 2; id < many + 2; ++id) {
        commit.worker_items.emplace_back(activity("A", id));
    }
    store.take_turn("A", commit);

    std::set<std::uint64_t> seen;
    while (const auto lease = store.try_fetch_work()) {
        seen.insert(lease->item.id);
        store.discard(*lease);
        if (seen.size() > many) {
            break;
        }
    }
    expect_eq(seen.size(), many, "every activity of the commit is handed out once");
}

void a_commit_sends_many_messages(Factory& factory) {
    const Store store{factory};
    store.start("A");
    TurnCommit commit{.metadata = named(), .history_delta = {started()}};
    for (std::uint64_t id = 1; id <= many; ++id) {
        commit.orchestrator_items.emplace_back(completion("A", id));
    }
    store.take_turn("A", commit);

    std::vector<std::uint64_t> wanted;
    for (std::uint64_t id = 1; id <= many; ++id) {
        wanted.push_back(id);
    }
    std::vector<std::uint64_t> seen; // a provider may hand them out in portions
    while (seen.size() < many) {
        const auto turn = store.fetch_turn();
        const auto ids = completion_ids(turn.messages);
        expect(!ids.empty(), "a turn has messages");
        seen.insert(seen.end(), ids.begin(), ids.end());
        store.commit(turn);
    }
    expect_eq(seen, wanted, "every message of the commit is handed out once, in order");
}

void a_large_text_comes_back_as_it_was(Factory& factory) {
    std::string text;
    while (text.size() < 2'000'000) {
        text += "0123456789 \xc3\xa9 " + std::to_string(text.size()) + "\n";
    }
    const Store store{factory};
    make_running_with(store, "A", {kv_set(2, "key", text), scheduled(3, text)});
    auto job = activity("A", 4);
    job.input = text;
    store.enqueue(job);
    auto letter = poke_of("A");
    letter.data = text;
    store.send(letter);

    expect(kv(store, "A", "key") == text, "a value is not cut");
    expect(
        store.read("A").back() ==
            [&] {
                auto event = scheduled(3, text);
                event.instance_id = "A";
                event.execution_id = 1;
                return event;
            }(),
        "an event is not cut");
    expect(store.fetch_work().item.input == text, "an activity's input is not cut");
    const auto turn = store.fetch_turn();
    expect(turn.messages.size() == 1 && turn.messages.front() == WorkItem{letter},
           "a message is not cut");
}

void a_key_value_store_holds_many_keys(Factory& factory) {
    const Store store{factory};
    std::vector<HistoryEvent> set;
    Values wanted;
    for (std::uint64_t id = 2; id < 202; ++id) {
        const auto key = "key" + std::to_string(id);
        set.push_back(kv_set(id, key, std::to_string(id)));
        wanted[key] = std::to_string(id);
    }
    make_running_with(store, "A", set);

    const auto all = value_of(store->get_kv_all_values("A"));
    complete(store, "A");

    expect_eq(all, wanted, "readers see every key");
    expect_eq(kv_snapshot(store, "A"), wanted, "turns get every key");
}

void many_instances_are_listed(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    std::set<std::string> wanted;
    for (std::uint64_t i = 0; i < many; ++i) {
        const auto id = "i" + std::to_string(i);
        wanted.insert(id);
        store.make_running(id);
    }

    const auto all = value_of(admin.list_instances());
    const auto running = value_of(admin.list_instances_by_status("Running"));

    expect(std::set<std::string>(all.begin(), all.end()) == wanted, "every instance is listed");
    expect(std::set<std::string>(running.begin(), running.end()) == wanted,
           "every running instance is listed");
    expect_eq(value_of(admin.get_system_metrics()).total_instances, many, "every one is counted");
}

void attempts_are_counted_as_far_as_it_takes(Factory& factory) {
    constexpr std::uint32_t times = 300; // more than a byte holds
    const Store store{factory};
    store.start("A");
    store.enqueue(activity("B", 1));
    for (std::uint32_t attempt = 1; attempt < times; ++attempt) {
        store.abandon(store.fetch_turn());
        store.abandon(store.fetch_work());
    }

    expect_eq(store.fetch_turn().attempt_count, times, "attempts of a turn");
    expect_eq(store.fetch_work().attempt_count, times, "attempts of an activity");
}

void large_numbers_are_kept(Factory& factory) {
    constexpr std::uint64_t large = (std::uint64_t{1} << 53U) - 1;
    const Store store{factory};
    make_running_with(store, "A", {scheduled(large, "last")});
    store.enqueue(activity("A", large));
    store.send(completion("A", large));

    expect_eq(store.read("A").back().event_id, large, "an event's id");
    expect_eq(store.fetch_work().item.id, large, "an activity's id");
    expect_eq(completion_ids(store.fetch_turn().messages).front(), large, "a message's id");
}

} // namespace

CheckList sizes_checks() {
    static constexpr Check list[] = {
        {"a_long_history_is_read_in_full", "sizes", "P1", a_long_history_is_read_in_full},
        {"a_commit_schedules_many_activities", "sizes", "P2", a_commit_schedules_many_activities},
        {"a_commit_sends_many_messages", "sizes", "P2", a_commit_sends_many_messages},
        {"a_large_text_comes_back_as_it_was", "sizes", "P1", a_large_text_comes_back_as_it_was},
        {"a_key_value_store_holds_many_keys", "sizes", "P9", a_key_value_store_holds_many_keys},
        {"many_instances_are_listed", "sizes", "P1", many_instances_are_listed},
        {"attempts_are_counted_as_far_as_it_takes",
         "sizes",
         "P4",
         attempts_are_counted_as_far_as_it_takes},
        {"large_numbers_are_kept", "sizes", "P1", large_numbers_are_kept},
    };
    return list;
}

} // namespace durable::validation
