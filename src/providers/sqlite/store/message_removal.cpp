// Removal of messages that have expired or do not decode.

#include "providers/sqlite/store/turn_queue.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace durable::sqlite {

namespace {

constexpr std::int64_t most_expired_at_once = 1000;
constexpr std::int64_t most_expired_kept = 1000;

void after_removal(Transaction& tx, InstanceRow& row) {
    refresh_head(tx, row);
    // Messages that still wait aside are left alone: filing all of them again for every message
    // that expires would cost the square of their number.
    if (row.place != Place::leased && row.place != Place::hidden &&
        (row.place != Place::aside || !row.head_seq)) {
        leave(tx, row);
        file(tx, row, false, false);
    }
    save_place(tx.db, row);
    drop_if_unused(tx, row);
}

bool expire_some(Transaction& tx) {
    const auto oldest = add_saturating(tx.now.wall, -tx.unstarted_message_ttl);
    std::set<std::int64_t> instances;
    std::vector<std::pair<std::int64_t, std::int64_t>> expired; // seq, instance
    {
        Query rows{tx.db,
                   "SELECT seq, instance FROM messages WHERE state = 2 AND visible_at <= ?1"
                   " ORDER BY visible_at LIMIT ?2",
                   oldest,
                   most_expired_at_once};
        while (rows.step()) {
            expired.emplace_back(rows.integer(0), rows.integer(1));
            instances.insert(rows.integer(1));
        }
    }
    std::ranges::sort(expired);
    for (const auto& [seq, instance] : expired) {
        run(tx.db,
            "INSERT INTO quarantine (expired, seq, queue, instance_id, item, reason,"
            " quarantined_at) SELECT 1, m.seq, 'orchestrator', i.instance_id, m.item,"
            " 'expired: its instance did not start in time', ?2"
            " FROM messages m JOIN instances i ON i.id = m.instance"
            " WHERE m.instance = ?3 AND m.state = 2 AND m.seq = ?1",
            seq,
            tx.now.wall,
            instance);
        run(tx.db,
            "DELETE FROM messages WHERE instance = ?1 AND state = 2 AND seq = ?2",
            instance,
            seq);
        tx.note_change();
        ++tx.counters.expired;
    }
    for (const auto id : instances) {
        if (auto row = find_instance(tx.db, id)) {
            after_removal(tx, *row);
        }
    }
    if (expired.empty()) {
        return false;
    }
    run(tx.db,
        "DELETE FROM quarantine WHERE expired = 1 AND number <="
        " (SELECT number FROM quarantine WHERE expired = 1 ORDER BY number DESC"
        " LIMIT 1 OFFSET ?1)",
        most_expired_kept);
    return true;
}

} // namespace

void expire_messages(Transaction& tx) {
    const auto oldest = add_saturating(tx.now.wall, -tx.unstarted_message_ttl);
    if (tx.outlook.aside_wall > rules::key_of(oldest)) {
        return;
    }
    while (expire_some(tx)) {
    }
    tx.outlook.aside_wall =
        find_integer(tx.db, "SELECT min(visible_at) FROM messages WHERE state = 2")
            .value_or(Due::never);
}

void quarantine_message(Transaction& tx,
                        InstanceRow& row,
                        std::uint64_t seq,
                        std::string_view text,
                        std::string_view reason) {
    quarantine(tx, rules::Queue::orchestrator, seq, row.instance_id, text, reason);
    run(tx.db, "DELETE FROM messages WHERE instance = ?1 AND state = 1 AND seq = ?2", row.id, seq);
    after_removal(tx, row);
}

} // namespace durable::sqlite
