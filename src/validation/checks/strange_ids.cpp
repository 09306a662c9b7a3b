// Names are bytes. No two different ones may be mixed up, however alike they are for a file system,
// a collation or a terminal, and none may reach a file outside of the store.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/session_scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <set>

namespace durable::validation {

namespace {

// Pairwise different; the neighbours look or sort alike somewhere.
const std::vector<std::string>& strange() {
    static const std::vector<std::string> names{
        "plain",
        "Plain",
        "plain ",
        " plain",
        "plain.",
        "\xc3\xa9",       // e with acute accent, one code point
        "e\xcc\x81",      // the same to the eye: e, combining accent
        "E\xcc\x81",      // its capital
        "\xef\xac\x81",   // the ligature fi
        "fi",             // its two letters
        "parent::sub::2", // the shape of a child's id
        "a/b",
        "a\\b",
        "a%2Fb",
        ".",
        "..",
        "../../escape",
        "/etc/passwd",
        "C:",
        "con",
        "*",
        "%",
        "_",
        "'; DROP TABLE instances; --",
        "\"quoted\"",
        "line\nbreak\ttab",
        "\xf0\x9f\x9a\x80", // outside the basic plane
        "\xe2\x80\xae"
        "rtl", // a right-to-left override in front
        std::string(10 * 1024, 'x'),
        std::string(10 * 1024, 'x') + "y",
    };
    return names;
}

// A store may refuse these. Those that it accepts, it must keep apart.
const std::vector<std::string>& refusable() {
    static const std::vector<std::string> names{
        "", std::string{"nul\0", 4}, std::string{"nul\0a", 5}, std::string{"nul\0b", 5}, "nul"};
    return names;
}

// The names that `use` does not refuse.
template <class Use>
std::vector<std::string> usable(Use use, Where where = Where::current()) {
    auto names = strange();
    for (const auto& name : names) {
        expect_ok(use(name), "any text is a name", where);
    }
    for (const auto& name : refusable()) {
        const auto used = use(name);
        if (used) {
            names.push_back(name);
        } else {
            expect_error(
                used, ErrorCode::invalid_argument, "taken or refused, nothing else", where);
        }
    }
    return names;
}

void instances_with_strange_ids_are_kept_apart(Factory& factory) {
    const Store store{factory};
    const auto names = usable([&](const std::string& name) {
        return store->enqueue_for_orchestrator(start_of(name), std::nullopt);
    });
    for (const auto& name : names) {
        auto first = event(
            1,
            history::OrchestrationStarted{.name = "TestOrch", .version = "1.0.0", .input = name});
        store.take_turn(name,
                        {.metadata = named(), .history_delta = {first, kv_set(2, "k", name)}});
    }

    auto listed = value_of(store.admin().list_instances());
    std::ranges::reverse(listed); // newest first
    expect_eq(listed, names, "every one is listed as it was named");
    for (const auto& name : names) {
        const auto history = store.read(name);
        expect_eq(history.size(), 2, "each has a history of its own");
        expect_eq(std::get<history::OrchestrationStarted>(history.front().kind).input,
                  name,
                  "which is its own");
        expect_eq(kv(store, name, "k"), name, "and a value of its own");
        expect_eq(value_of(store.admin().get_instance_info(name)).instance_id, name, "and an id");
    }
    expect_ok(store.admin().delete_instance("plain", true), "one of them is deleted");
    expect_eq(value_of(store.admin().list_instances()).size(),
              names.size() - 1,
              "and none of the others");
}

void parents_with_strange_ids_have_their_own_children(Factory& factory) {
    const Store store{factory};
    for (const auto& name : strange()) {
        store.make_ended(name);
        store.make_ended("child of " + name, ExecutionStatus::completed, name);
    }

    for (const auto& name : strange()) {
        expect_eq(value_of(store.admin().list_children(name)),
                  std::vector{"child of " + name},
                  "a parent's children are its own");
    }
}

void sessions_with_strange_ids_are_kept_apart(Factory& factory) {
    const Store store{factory};
    std::uint64_t next = 0;
    const auto names = usable([&](const std::string& name) {
        return store->enqueue_for_worker(of_session(next++, name));
    });
    for (const auto& name : names) {
        const auto lease = store.fetch_work(worker("owner of " + name));
        expect_eq(lease.item.session_id, name, "each session goes to the worker that asks next");
        store.discard(lease);
    }

    for (const auto& name : names) {
        store.enqueue(of_session(next++, name));
    }

    std::ranges::for_each(names, [&](const std::string& name) {
        const auto lease = store.fetch_work(worker("owner of " + name));
        expect_eq(lease.item.session_id, name, "and stays with it alone");
        expect_eq(value_of(store->renew_session_lock({"owner of " + name}, long_lease, long_lease)),
                  1,
                  "its owner has one session");
    });
}

void tags_with_strange_names_are_kept_apart(Factory& factory) {
    const Store store{factory};
    std::uint64_t next = 0;
    const auto names = usable([&](const std::string& name) {
        auto item = activity("A", next++);
        item.tag = name;
        return store->enqueue_for_worker(item);
    });

    for (const auto& name : names) {
        const FetchWork request{.lock_timeout = long_lease,
                                .tags = value_of(TagFilter::tags({name}))};
        expect_eq(store.fetch_work(request).item.tag, name, "a worker gets its tag");
        expect(!store.try_fetch_work(request), "and no other");
    }
}

void keys_with_strange_names_are_kept_apart(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    std::uint64_t next = 100;
    const auto names = usable([&](const std::string& name) {
        store.poke("A");
        const auto turn = store.fetch_turn();
        auto set = store.try_commit(turn, {.history_delta = {kv_set(next++, name, "of " + name)}});
        if (!set) {
            store.commit(turn);
        }
        return set;
    });
    Values wanted;
    for (const auto& name : names) {
        wanted[name] = "of " + name;
        expect_eq(kv(store, "A", name), "of " + name, "each key has its own value");
    }
    expect_eq(value_of(store->get_kv_all_values("A")), wanted, "readers see them all");

    complete(store, "A");

    expect_eq(kv_snapshot(store, "A"), wanted, "and so do turns");
}

void strange_lock_tokens_lease_nothing(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work();
    auto tokens = strange();
    tokens.insert(tokens.end(), refusable().begin(), refusable().end());
    tokens.insert(tokens.end(),
                  {turn.lock_token + " ", turn.lock_token + std::string{"\0", 1}, "\xff"});

    for (const auto& token : tokens) {
        expect_error(store->ack_orchestration_item({.lock_token = token}),
                     ErrorCode::lock_lost,
                     "it commits nothing");
        expect_error(store->renew_orchestration_item_lock(token, long_lease),
                     ErrorCode::lock_lost,
                     "it renews nothing");
        expect_error(store->abandon_orchestration_item(
                         {.lock_token = token, .delay = std::nullopt, .ignore_attempt = false}),
                     ErrorCode::lock_lost,
                     "it gives nothing back");
        expect_error(store->ack_work_item(token, std::nullopt),
                     ErrorCode::lock_lost,
                     "it completes nothing");
        expect_error(store->renew_work_item_lock(token, long_lease),
                     ErrorCode::lock_lost,
                     "it renews nothing");
        expect_error(store->abandon_work_item(token, std::nullopt, false),
                     ErrorCode::lock_lost,
                     "it gives nothing back");
    }
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    store.discard(lease);
}

} // namespace

CheckList strange_id_checks() {
    static constexpr Check list[] = {
        {"instances_with_strange_ids_are_kept_apart",
         "strange_ids",
         "P1",
         instances_with_strange_ids_are_kept_apart},
        {"parents_with_strange_ids_have_their_own_children",
         "strange_ids",
         "P1",
         parents_with_strange_ids_have_their_own_children},
        {"sessions_with_strange_ids_are_kept_apart",
         "strange_ids",
         "P1",
         sessions_with_strange_ids_are_kept_apart},
        {"tags_with_strange_names_are_kept_apart",
         "strange_ids",
         "P6",
         tags_with_strange_names_are_kept_apart},
        {"keys_with_strange_names_are_kept_apart",
         "strange_ids",
         "P9",
         keys_with_strange_names_are_kept_apart},
        {"strange_lock_tokens_lease_nothing",
         "strange_ids",
         "P3",
         strange_lock_tokens_lease_nothing},
    };
    return list;
}

} // namespace durable::validation
