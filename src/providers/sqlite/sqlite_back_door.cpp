// The back door of SqliteProvider, for tests: damages rows directly in the tables.

#include "providers/rules/stored.hpp"
#include "providers/sqlite/sqlite_provider.hpp"
#include "providers/sqlite/store/work_queue.hpp"

#include <durable/codec.hpp>

#include <utility>

namespace durable::sqlite {

namespace {

constexpr std::string_view damage = "{\"event_id\": damaged";

// Whether an instance without a row can start depends on its history: files it anew.
void ask_again(Transaction& tx, InstanceRow& row) {
    if (!row.exists() && (row.place == Place::ready || row.place == Place::aside)) {
        leave(tx, row);
        file(tx, row, false, false);
        save_place(tx.db, row);
    }
}

} // namespace

Result<> SqliteProvider::corrupt_history(const std::string& instance) {
    return carry_out("corrupt_history", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
        auto row = find_instance(tx.db, instance);
        if (row) {
            run(tx.db, "UPDATE history SET event = ?2 WHERE instance = ?1", row->id, damage);
        }
        if (!row || tx.db.changes() == 0) {
            return fail(ErrorCode::not_found, "no history of \"" + instance + "\"");
        }
        ask_again(tx, *row);
        return {};
    });
}

Result<> SqliteProvider::corrupt_event(const std::string& instance,
                                       std::uint64_t execution_id,
                                       std::uint64_t event_id) {
    return carry_out("corrupt_event", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
        auto row = find_instance(tx.db, instance);
        if (row) {
            run(tx.db,
                "UPDATE history SET event = ?4"
                " WHERE instance = ?1 AND execution_id = ?2 AND event_id = ?3",
                row->id,
                execution_id,
                event_id,
                damage);
        }
        if (!row || tx.db.changes() == 0) {
            return fail(ErrorCode::not_found, "no such event of \"" + instance + "\"");
        }
        ask_again(tx, *row);
        return {};
    });
}

// As if the text had been damaged after it was queued: it is filed as a sound message would be.
Result<> SqliteProvider::inject_orchestrator_row(const std::string& instance,
                                                 const std::string& text) {
    return carry_out(
        "inject_orchestrator_row", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
            const auto item = decode_work_item(text);
            const auto good = item && !std::holds_alternative<work::ActivityExecute>(*item) &&
                              target_instance(*item) == instance;
            rules::NewMessage message{.instance = instance, .text = text};
            message.kind = good ? static_cast<std::uint8_t>(item->index())
                                : rules::item_kind<work::StartOrchestration>;
            if (const auto* timer = good ? std::get_if<work::TimerFired>(&*item) : nullptr) {
                message.visible_at = from_epoch_ms(timer->fire_at_ms);
                message.execution_id = timer->execution_id;
                message.timer_id = timer->id;
            }
            add_message(tx, message);
            return {};
        });
}

Result<> SqliteProvider::inject_worker_row(const std::string& text) {
    return carry_out(
        "inject_worker_row", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
            const auto item = decode_work_item(text);
            auto added = item ? rules::to_work(*item) : Result<rules::NewWork>{rules::NewWork{}};
            if (!added) {
                added = rules::NewWork{};
            }
            added->text = text;
            const auto& instance = added->activity.instance;
            add_work(tx, *added, instance.empty() ? 0 : get_instance(tx, instance).id);
            return {};
        });
}

Result<std::uint32_t> SqliteProvider::max_attempt_count(const std::string& instance) {
    std::int64_t most = 0;
    auto done = writer_.use([&](Connection& db) {
        most = find_integer(db,
                            "SELECT max(m.attempts) FROM messages m JOIN instances i"
                            " ON i.id = m.instance WHERE i.instance_id = ?1",
                            instance)
                   .value_or(0);
    });
    if (!done) {
        return std::unexpected{std::move(done).error()};
    }
    return static_cast<std::uint32_t>(most);
}

} // namespace durable::sqlite
