// The verbs of the session checks: activities bound to a session, workers that claim sessions.

#pragma once

#include "validation/support/support.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace durable::validation {

// An activity of instance "X" that belongs to the session.
[[nodiscard]] inline work::ActivityExecute of_session(std::uint64_t id,
                                                      const std::string& session) {
    auto item = activity("X", id);
    item.session_id = session;
    return item;
}

struct Leases {
    Duration item = long_lease;
    Duration session = long_lease;
};

[[nodiscard]] inline FetchWork worker(const std::string& owner, Leases leases = {}) {
    return {.lock_timeout = leases.item,
            .session = SessionClaim{.owner_id = owner, .lock_timeout = leases.session}};
}

// The worker takes the next item, which must have this id.
[[nodiscard]] inline WorkLease take(const Store& store,
                                    const FetchWork& request,
                                    std::uint64_t id,
                                    Where where = Where::current()) {
    auto lease = store.fetch_work(request, where);
    expect_eq(lease.item.id, id, "the worker is given the next item it may have", where);
    return lease;
}

inline void expect_nothing(const Store& store,
                           const FetchWork& request,
                           std::string_view sentence,
                           Where where = Where::current()) {
    const auto lease = store.try_fetch_work(request, where);
    expect_eq(lease ? std::optional{lease->item.id} : std::nullopt, std::nullopt, sentence, where);
}

// Queues the item, and the worker takes and finishes it: from now on the session is the worker's.
inline void claim(const Store& store,
                  const work::ActivityExecute& item,
                  const FetchWork& request,
                  Where where = Where::current()) {
    store.enqueue(item, where);
    store.discard(take(store, request, item.id, where), where);
}

} // namespace durable::validation
