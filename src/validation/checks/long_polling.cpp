// A fetch with nothing to fetch: a long poll waits for its time, a short poll answers at once. A
// provider does one or the other, and the checks of the other kind are skipped.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"
#include "validation/support/waiting.hpp"

#include <algorithm>
#include <functional>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

// One empty fetch of either queue: true when it found nothing.
using EmptyFetch = std::function<bool(const Store&, Duration poll, std::stop_token)>;

bool empty_turn_fetch(const Store& store, Duration poll, std::stop_token stop) {
    return !store.try_fetch_turn(
        {.lock_timeout = long_lease, .poll_timeout = poll, .stop = std::move(stop)});
}

bool empty_work_fetch(const Store& store, Duration poll, std::stop_token stop) {
    return !store.try_fetch_work(
        {.lock_timeout = long_lease, .poll_timeout = poll, .stop = std::move(stop)});
}

SteadyInstant steady_of(Factory& factory) {
    return factory.clock() != nullptr ? factory.clock()->steady() : system_clock()->steady();
}

void short_poll_only(Factory& factory) {
    if (factory.long_polling()) {
        skip("this provider polls long");
    }
}

void long_poll_only(Factory& factory) {
    if (!factory.long_polling()) {
        skip("this provider polls short");
    }
}

void expect_immediate(Factory& factory, const EmptyFetch& fetch) {
    short_poll_only(factory);
    const Store store{factory};
    const auto began = system_clock()->steady();

    expect(fetch(store, 500ms, {}), "there is nothing to fetch");

    expect_below(system_clock()->steady() - began,
                 factory.short_poll_threshold(),
                 "a short poll answers at once");
}

// The call takes at least the poll's time, and returns while the clock moves.
void expect_full_wait(Factory& factory, const EmptyFetch& fetch) {
    long_poll_only(factory);
    const Store store{factory};
    constexpr auto poll = 500ms;
    struct Seen {
        bool nothing;
        Duration waited;
    };
    Waiting<Seen> waiting{store, [&](const std::stop_token& stop) {
                              const auto began = steady_of(factory);
                              const bool nothing = fetch(store, poll, stop);
                              return Seen{nothing, steady_of(factory) - began};
                          }};

    for (auto waited = 0ms; waited < patience && !waiting.finished_within(2ms); waited += 2ms) {
        store.pass_time(50ms);
    }

    const auto seen = waiting.answer("a long poll ends when its time is over");
    expect(seen.nothing, "there is nothing to fetch");
    expect_at_least(seen.waited, poll, "a long poll waits for all its time");
}

// With a manual clock, a thread may enter the provider after the clock was moved, and then rightly
// goes on waiting. So the bound must hold in one of a few attempts.
void expect_bounded(Factory& factory, const EmptyFetch& fetch) {
    const Store store{factory};
    constexpr auto poll = 300ms;
    constexpr auto bound = 500ms;
    constexpr int attempts = 5; // a busy machine may be late once, and not always
    if (factory.clock() == nullptr) {
        auto shortest = Duration::max();
        for (int attempt = 0; attempt < attempts && shortest >= bound; ++attempt) {
            const auto began = system_clock()->steady();
            expect(fetch(store, poll, {}), "there is nothing to fetch");
            shortest = std::min(shortest, system_clock()->steady() - began);
        }
        expect_below(shortest, bound, "a poll ends soon after its time");
        return;
    }
    for (int attempt = 0; attempt < attempts; ++attempt) {
        Waiting<bool> waiting{
            store, [&](const std::stop_token& stop) { return fetch(store, poll, stop); }};
        const bool early = waiting.finished_within(5ms);
        expect(!early || !factory.long_polling(), "a long poll does not end before its time");
        store.pass_time(bound);
        if (waiting.finished_within(1s)) {
            expect(waiting.answer("the poll has ended"), "there is nothing to fetch");
            return;
        }
    }
    fail_check("a poll ends soon after its time");
}

void test_short_poll_returns_immediately(Factory& factory) {
    expect_immediate(factory, empty_turn_fetch);
}

void test_long_poll_waits_for_timeout(Factory& factory) {
    expect_full_wait(factory, empty_turn_fetch);
}

void test_fetch_respects_timeout_upper_bound(Factory& factory) {
    expect_bounded(factory, empty_turn_fetch);
    expect_bounded(factory, empty_work_fetch);
}

void test_short_poll_work_item_returns_immediately(Factory& factory) {
    expect_immediate(factory, empty_work_fetch);
}

void test_long_poll_work_item_waits_for_timeout(Factory& factory) {
    expect_full_wait(factory, empty_work_fetch);
}

} // namespace

CheckList long_polling_checks() {
    static constexpr Check list[] = {
        {"test_short_poll_returns_immediately",
         "long_polling",
         "P11",
         test_short_poll_returns_immediately},
        {"test_long_poll_waits_for_timeout",
         "long_polling",
         "P11",
         test_long_poll_waits_for_timeout},
        {"test_fetch_respects_timeout_upper_bound",
         "long_polling",
         "P11",
         test_fetch_respects_timeout_upper_bound},
        {"test_short_poll_work_item_returns_immediately",
         "long_polling",
         "P11",
         test_short_poll_work_item_returns_immediately},
        {"test_long_poll_work_item_waits_for_timeout",
         "long_polling",
         "P11",
         test_long_poll_work_item_waits_for_timeout},
    };
    return list;
}

} // namespace durable::validation
