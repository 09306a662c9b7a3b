#include "providers/sqlite/store/transaction.hpp"

namespace durable::sqlite {

Counters load_counters(Connection& db) {
    Query row{db,
              "SELECT next_seq, next_instance, next_number, next_lease, change_version,"
              " executions, events, quarantined, expired FROM store WHERE id = 1"};
    if (!row.step()) {
        if (!db.failed()) {
            db.set_error({.code = ErrorCode::corrupt,
                          .message = db.path() + ": the table `store` has lost its row"});
        }
        return {};
    }
    return {.next_seq = row.number(0),
            .next_instance = row.number(1),
            .next_number = row.number(2),
            .next_lease = row.number(3),
            .change_version = row.number(4),
            .executions = row.number(5),
            .events = row.number(6),
            .quarantined = row.number(7),
            .expired = row.number(8)};
}

void save_counters(Connection& db, const Counters& counters) {
    run(db,
        "UPDATE store SET next_seq = ?1, next_instance = ?2, next_number = ?3, next_lease = ?4,"
        " change_version = ?5, executions = ?6, events = ?7, quarantined = ?8, expired = ?9"
        " WHERE id = 1",
        counters.next_seq,
        counters.next_instance,
        counters.next_number,
        counters.next_lease,
        counters.change_version,
        counters.executions,
        counters.events,
        counters.quarantined,
        counters.expired);
}

std::optional<Duration> Due::wait(const Moment& now) const {
    rules::Soonest soonest;
    if (wall != never) {
        soonest.consider(wall, rules::key_of(now.wall));
    }
    if (steady != never) {
        soonest.consider(steady, rules::key_of(now.steady));
    }
    return soonest.wait();
}

std::optional<std::uint64_t> store_version(Connection& db) {
    const auto version = find_integer(db, "SELECT change_version FROM store WHERE id = 1");
    return version ? std::optional{static_cast<std::uint64_t>(*version)} : std::nullopt;
}

} // namespace durable::sqlite
