// P6: a worker is given the activities whose tag it serves, and the others wait aside.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <set>
#include <utility>

namespace durable::validation {

namespace {

using Tag = std::optional<std::string>;

void queue(const Store& store, std::uint64_t id, Tag tag) {
    auto item = activity("A", id);
    item.tag = std::move(tag);
    store.enqueue(item);
}

FetchWork serving(const TagFilter& tags) {
    return {.lock_timeout = long_lease, .tags = tags};
}

TagFilter only(std::vector<std::string> tags) {
    return value_of(TagFilter::tags(std::move(tags)));
}

// Everything that fetches with the filter get, in order; each item stays leased.
std::vector<std::uint64_t> drain(const Store& store, const TagFilter& tags) {
    std::vector<std::uint64_t> ids;
    while (const auto lease = store.try_fetch_work(serving(tags))) {
        ids.push_back(lease->item.id);
    }
    return ids;
}

using Ids = std::vector<std::uint64_t>;

void test_default_only_fetches_untagged(Factory& factory) {
    const Store store{factory};
    queue(store, 1, {});
    queue(store, 2, "gpu");
    queue(store, 3, {});

    expect_eq(drain(store, TagFilter::default_only()), Ids{1, 3}, "only untagged items come");
    expect_eq(drain(store, TagFilter::any()), Ids{2}, "the tagged one waited");
}

void test_tags_fetches_only_matching(Factory& factory) {
    const Store store{factory};
    queue(store, 1, {});
    queue(store, 2, "gpu");
    queue(store, 3, "cpu");
    queue(store, 4, "gpu");

    expect_eq(drain(store, only({"gpu"})), Ids{2, 4}, "only items of the tag come, in order");
    expect_eq(drain(store, TagFilter::any()), Ids{1, 3}, "the others waited");
}

void test_default_and_fetches_untagged_and_matching(Factory& factory) {
    const Store store{factory};
    queue(store, 1, {});
    queue(store, 2, "gpu");
    queue(store, 3, "cpu");

    expect_eq(drain(store, value_of(TagFilter::default_and({"gpu"}))),
              Ids{1, 2},
              "untagged items and those of the tag come");
}

void test_none_filter_returns_nothing(Factory& factory) {
    const Store store{factory};
    queue(store, 1, {});
    queue(store, 2, "gpu");

    expect_eq(drain(store, TagFilter::none()), Ids{}, "a worker for no tag is given nothing");
    expect_eq(store.fetch_work(serving(TagFilter::any())).attempt_count,
              1,
              "an item that was not given out is not counted");
}

void test_multi_tag_filter(Factory& factory) {
    const Store store{factory};
    queue(store, 1, "gpu");
    queue(store, 2, "tpu");
    queue(store, 3, "cpu");
    queue(store, 4, {});

    expect_eq(drain(store, only({"gpu", "tpu"})), Ids{1, 2}, "items of either tag come");
}

void test_tag_round_trip_preservation(Factory& factory) {
    const Store store{factory};
    queue(store, 1, "gpu");

    const auto lease = store.fetch_work(serving(only({"gpu"})));

    expect_eq(lease.item.tag, "gpu", "the tag comes back with the item");
    expect_eq(lease.item.name, "Activity1", "and so does the rest");
}

void test_any_filter_fetches_everything(Factory& factory) {
    const Store store{factory};
    queue(store, 1, {});
    queue(store, 2, "gpu");
    queue(store, 3, "cpu");

    expect_eq(drain(store, TagFilter::any()), Ids{1, 2, 3}, "everything comes, oldest first");
}

void test_tag_survives_abandon_and_refetch(Factory& factory) {
    const Store store{factory};
    queue(store, 1, "gpu");
    queue(store, 2, {});
    const auto first = store.fetch_work(serving(only({"gpu"})));

    store.abandon(first);

    const auto second = store.fetch_work(serving(only({"gpu"})));
    expect_eq(second.item, first.item, "the same item comes back, tag included");
    expect_eq(second.attempt_count, 2, "as the second attempt");
    expect_ne(second.lock_token, first.lock_token, "under a new lease");
    expect_eq(drain(store, TagFilter::default_only()), Ids{2}, "the untagged one was not touched");
}

// Four workers with overlapping tags share one queue without taking each other's items.
void test_multi_runtime_tag_isolation(Factory& factory) {
    const Store store{factory};
    queue(store, 1, {});
    queue(store, 2, "gpu");
    queue(store, 3, "cpu");
    queue(store, 4, "fpga");
    queue(store, 5, "gpu");

    expect_eq(drain(store, TagFilter::default_only()), Ids{1}, "the default worker gets its item");
    std::set<std::uint64_t> two;
    two.insert(store.fetch_work(serving(only({"gpu", "cpu"}))).item.id);
    two.insert(store.fetch_work(serving(only({"gpu", "cpu"}))).item.id);
    expect_eq(two, std::set<std::uint64_t>{2, 3}, "the oldest two of its tags");
    expect_eq(drain(store, only({"cpu", "fpga"})), Ids{4}, "a leased item has one owner");
    expect_eq(drain(store, TagFilter::any()), Ids{5}, "the rest goes to the worker for all tags");
}

void test_tag_preserved_through_ack_orchestration_item(Factory& factory) {
    const Store store{factory};
    auto gpu_work = activity("A", 10);
    gpu_work.name = "GpuWork";
    gpu_work.tag = "gpu";
    auto cpu_work = activity("A", 11);
    cpu_work.name = "CpuWork";
    store.start("A");
    store.take_turn(
        "A",
        {.metadata = named(), .history_delta = {started()}, .worker_items = {gpu_work, cpu_work}});

    const auto untagged = store.fetch_work(serving(TagFilter::default_only()));
    expect_eq(untagged.item, cpu_work, "the default worker skips the tagged item");
    store.discard(untagged);
    expect_eq(drain(store, TagFilter::default_only()), Ids{}, "and finds no other");
    const auto tagged = store.fetch_work(serving(only({"gpu"})));
    expect_eq(tagged.item, gpu_work, "an item queued by a commit keeps its tag");
}

} // namespace

CheckList tag_filtering_checks() {
    static constexpr Check list[] = {
        {"test_default_only_fetches_untagged",
         "tag_filtering",
         "P6",
         test_default_only_fetches_untagged},
        {"test_tags_fetches_only_matching", "tag_filtering", "P6", test_tags_fetches_only_matching},
        {"test_default_and_fetches_untagged_and_matching",
         "tag_filtering",
         "P6",
         test_default_and_fetches_untagged_and_matching},
        {"test_none_filter_returns_nothing",
         "tag_filtering",
         "P6",
         test_none_filter_returns_nothing},
        {"test_multi_tag_filter", "tag_filtering", "P6", test_multi_tag_filter},
        {"test_tag_round_trip_preservation",
         "tag_filtering",
         "P6",
         test_tag_round_trip_preservation},
        {"test_any_filter_fetches_everything",
         "tag_filtering",
         "P5",
         test_any_filter_fetches_everything},
        {"test_tag_survives_abandon_and_refetch",
         "tag_filtering",
         "P7",
         test_tag_survives_abandon_and_refetch},
        {"test_multi_runtime_tag_isolation",
         "tag_filtering",
         "P6",
         test_multi_runtime_tag_isolation},
        {"test_tag_preserved_through_ack_orchestration_item",
         "tag_filtering",
         "P6",
         test_tag_preserved_through_ack_orchestration_item},
    };
    return list;
}

} // namespace durable::validation
