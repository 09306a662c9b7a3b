#include "providers/sqlite/store/arrivals.hpp"

#include "providers/rules/stored.hpp"

#include <durable/work_item.hpp>

namespace durable::sqlite {

namespace {

// How many entries that another process has moved may stay in memory.
constexpr std::size_t most_in_vain = 4096;

} // namespace

bool Arrivals::suits(const rules::NewMessage& message, Instant now) {
    return message.visible_at <= now &&
           message.kind != rules::item_kind<work::StartOrchestration> &&
           message.kind != rules::item_kind<work::ContinueAsNew> &&
           message.kind != rules::item_kind<work::CancelInstance> &&
           message.kind != rules::item_kind<work::TimerFired>;
}

void Arrivals::put_down(Connection& db,
                        std::int64_t seq,
                        std::int64_t instance,
                        const rules::NewMessage& message,
                        Instant now) {
    run(db,
        "INSERT INTO arrivals (seq, instance, visible_at, kind, item) VALUES (?1, ?2, ?3, ?4, ?5)",
        seq,
        instance,
        now,
        message.kind,
        message.text);
    if (current_) {
        known_[instance].push_back(seq);
        ++count_;
        known_below_ = seq + 1;
    }
}

void Arrivals::sort(Connection& db, std::int64_t instance) {
    catch_up(db);
    const auto found = known_.extract(instance);
    if (found.empty()) {
        return;
    }
    for (const auto seq : found.mapped()) {
        run(db,
            "INSERT INTO messages (seq, instance, state, visible_at, kind, item)"
            " SELECT seq, instance, 1, visible_at, kind, item FROM arrivals WHERE seq = ?1",
            seq);
        run(db, "DELETE FROM arrivals WHERE seq = ?1", seq);
    }
    count_ -= found.mapped().size();
}

void Arrivals::forget() {
    known_.clear();
    count_ = 0;
    known_below_ = 0;
    current_ = false;
}

// New entries have higher sequence numbers than all before.
void Arrivals::catch_up(Connection& db) {
    if (current_) {
        return;
    }
    if (count_ > 2 * count_at_first_ + most_in_vain) {
        forget();
    }
    const auto first = known_below_ == 0;
    Query rows{db, "SELECT seq, instance FROM arrivals WHERE seq >= ?1", known_below_};
    while (rows.step()) {
        known_below_ = rows.integer(0) + 1;
        known_[rows.integer(1)].push_back(rows.integer(0));
        ++count_;
    }
    if (first) {
        count_at_first_ = count_;
    }
    current_ = true;
}

} // namespace durable::sqlite
