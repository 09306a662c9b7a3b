// P15: making an instance by starting it.

#include "providers/sqlite/store/turn_queue.hpp"

#include <utility>

namespace durable::sqlite {

Result<> start_instance(Transaction& tx,
                        const work::StartOrchestration& start,
                        const rules::NewMessage& message) {
    auto known = find_instance(tx.db, start.instance);
    if (known && known->exists()) {
        return fail(ErrorCode::already_exists,
                    "instance \"" + start.instance + "\" already exists");
    }
    if (known && find_integer(tx.db,
                              "SELECT 1 FROM messages WHERE instance = ?1 AND kind = ?2 LIMIT 1",
                              known->id,
                              rules::item_kind<work::StartOrchestration>)) {
        return fail(ErrorCode::already_exists,
                    "a start of instance \"" + start.instance + "\" is already queued");
    }
    auto row = known ? *std::move(known) : new_instance(tx, start.instance);
    // Messages that came earlier wait for this start, too.
    const auto waits = row.place == Place::ready || row.place == Place::aside;
    if (waits) {
        leave(tx, row);
    }
    row.number = tx.counters.next_number++;
    row.name = start.orchestration;
    row.version = start.version.value_or("unknown");
    row.parent_id = start.parent_instance;
    row.created_at = tx.now.wall;
    row.updated_at = tx.now.wall;
    row.execution_id = 1;
    row.status = ExecutionStatus::pending;
    if (row.past) { // it has executions or events already, from turns without a name
        mirror_execution(tx.db, row);
    }
    row.revision = tx.note_change();
    add_message(tx, message, row, !waits);
    if (waits) {
        file(tx, row, false, false);
    }
    put_started(tx.db, row);
    tx.news.instances.push_back({.id = row.instance_id, .ended = false, .state = {}});
    return {};
}

} // namespace durable::sqlite
