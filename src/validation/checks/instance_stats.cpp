// The numbers of one instance: its current execution's history, carried messages, and KV.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <string>

namespace durable::validation {

namespace {

HistoryEvent set(std::uint64_t id, const std::string& key, const std::string& value) {
    return event(id, history::KeyValueSet{.key = key, .value = value, .last_updated_at_ms = 1});
}

InstanceStats stats_of(const Store& store, Where where = Where::current()) {
    const auto stats = value_of(store->get_instance_stats("A"), where);
    expect(stats.has_value(), "an instance has stats", where);
    return *stats;
}

void test_get_instance_stats_nonexistent(Factory& factory) {
    const Store store{factory};
    store.start("A");

    expect(!value_of(store->get_instance_stats("unknown")), "an unknown instance has no stats");
    expect(!value_of(store->get_instance_stats("A")), "nor has one that is only queued");
}

void test_get_instance_stats_history(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    const auto one = stats_of(store);
    expect_eq(one.history_event_count, 1, "events are counted");
    expect_at_least(one.history_size_bytes, 1, "events have a size");
    expect_eq(one.kv_user_key_count, 0, "no keys");
    expect_eq(one.kv_total_value_bytes, 0, "no values");
    expect_eq(one.queue_pending_count, 0, "nothing was carried over");

    store.poke("A");
    store.take_turn("A", {.history_delta = {scheduled(2, std::string(1'000, 'x'))}});

    const auto two = stats_of(store);
    expect_eq(two.history_event_count, 2, "new events are counted");
    expect_at_least(two.history_size_bytes, one.history_size_bytes + 1'000, "and measured");
}

void test_get_instance_stats_kv(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A",
                    {.metadata = ended(ExecutionStatus::completed),
                     .history_delta = {started(), set(2, "k1", "aaa"), set(3, "k2", "bbbbb")}});

    expect_eq(stats_of(store).kv_user_key_count, 2, "keys of an ended execution count");
    expect_eq(stats_of(store).kv_total_value_bytes, 8, "values are measured in bytes");
}

void test_get_instance_stats_carry_forward(Factory& factory) {
    const Store store{factory};
    store.start("A");
    auto carried = history::OrchestrationStarted{.name = "TestOrch", .version = "1.0.0"};
    carried.carry_forward_events = {{.name = "inbox", .data = "1"},
                                    {.name = "inbox", .data = "2"},
                                    {.name = "other", .data = "3"}};
    carried.carry_forward_raised = std::vector<CarriedMessage>{{.name = "approved", .data = "yes"}};
    store.take_turn("A", {.metadata = named(), .history_delta = {event(1, carried)}});

    const auto stats = stats_of(store);
    expect_eq(stats.queue_pending_count, 4, "messages and events carried into it count");
    expect_eq(stats.history_event_count, 1, "as part of one event");
    expect_at_least(stats.history_size_bytes, 1, "events have a size");
    expect_eq(stats.kv_user_key_count, 0, "no keys");
}

void test_get_instance_stats_kv_delta_only(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A",
                    {.metadata = named(),
                     .history_delta = {started(), set(2, "d1", "aaa"), set(3, "d2", "bbbbbb")}});

    const auto stats = stats_of(store);
    expect_eq(stats.kv_user_key_count, 2, "keys of the running execution count");
    expect_eq(stats.kv_total_value_bytes, 9, "and so do their values");
    expect_eq(stats.queue_pending_count, 0, "nothing was carried over");
}

void test_get_instance_stats_kv_merged(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A",
                    {.metadata = named(),
                     .history_delta = {started(), set(2, "mk1", "aaa"), set(3, "mk2", "bb")}});
    expect_eq(stats_of(store).kv_user_key_count, 2, "two keys");
    expect_eq(stats_of(store).kv_total_value_bytes, 5, "of five bytes");

    store.poke("A");
    store.take_turn(
        "A",
        {.metadata = ended(ExecutionStatus::completed), .history_delta = {set(4, "mk1", "zzzzz")}});

    expect_eq(stats_of(store).kv_user_key_count, 2, "an overwritten key counts once");
    expect_eq(stats_of(store).kv_total_value_bytes, 7, "with its last value");
}

} // namespace

CheckList instance_stats_checks() {
    static constexpr Check list[] = {
        {"test_get_instance_stats_nonexistent",
         "management",
         "P2",
         test_get_instance_stats_nonexistent},
        {"test_get_instance_stats_history", "management", "P2", test_get_instance_stats_history},
        {"test_get_instance_stats_kv", "management", "P9", test_get_instance_stats_kv},
        {"test_get_instance_stats_carry_forward",
         "management",
         "P2",
         test_get_instance_stats_carry_forward},
        {"test_get_instance_stats_kv_delta_only",
         "management",
         "P9",
         test_get_instance_stats_kv_delta_only},
        {"test_get_instance_stats_kv_merged",
         "management",
         "P9",
         test_get_instance_stats_kv_merged},
    };
    return list;
}

} // namespace durable::validation
