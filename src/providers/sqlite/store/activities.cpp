#include "providers/sqlite/store/activities.hpp"

#include "base/try.hpp"
#include "providers/rules/stored.hpp"
#include "providers/sqlite/store/token.hpp"
#include "providers/sqlite/store/turn_queue.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace durable::sqlite {

namespace {

Result<WorkRow> any_lease(Transaction& tx, const std::string& lock_token) {
    if (const auto seq = leased_number('w', lock_token)) {
        if (auto row = find_work(tx.db, *seq); row && row->token == lock_token) {
            return *std::move(row);
        }
    }
    return fail(ErrorCode::lock_lost, "Invalid lock token");
}

// P3: as live_turn_lease in turns.cpp.
Result<WorkRow> live_lease(Transaction& tx, const std::string& lock_token) {
    DURABLE_TRY_ASSIGN(auto row, any_lease(tx, lock_token));
    if (row.state != WorkState::leased) {
        return fail(ErrorCode::lock_lost, "the lease on this activity has expired");
    }
    return row;
}

bool has_older(Transaction& tx, const FetchWork& request) {
    auto& known = tx.older_work;
    if (!known || !fetch_the_same(*known->first, request)) {
        known = {&request, first_ready(tx, request).has_value()};
    }
    return known->second;
}

void drop_instance_if_unused(Transaction& tx, std::int64_t instance) {
    if (const auto row = find_instance(tx.db, instance)) {
        drop_if_unused(tx, *row);
    }
}

} // namespace

std::optional<WorkLease>
take_fresh_work(Transaction& tx, const FetchWork& request, FreshWork& fresh) {
    if (fresh.unseen && has_older(tx, request)) {
        return std::nullopt;
    }
    auto item = decode_work_item(fresh.work.text);
    auto* activity = item ? std::get_if<work::ActivityExecute>(&*item) : nullptr;
    if (activity == nullptr) {
        return std::nullopt;
    }
    fresh.token = new_token('w', fresh.seq, tx.life, tx.random);
    fresh.until = tx.now.steady_after(request.lock_timeout);
    return WorkLease{.item = std::move(*activity), .lock_token = fresh.token, .attempt_count = 1};
}

std::optional<WorkLease> fetch_work(Transaction& tx, const FetchWork& request) {
    while (const auto row = first_ready(tx, request)) {
        auto item = decode_work_item(row->item);
        auto* activity = item ? std::get_if<work::ActivityExecute>(&*item) : nullptr;
        if (activity == nullptr) { // P10, P13: quarantined, nothing is leased
            const auto instance = find_instance(tx.db, row->instance);
            quarantine(tx,
                       rules::Queue::worker,
                       static_cast<std::uint64_t>(row->seq),
                       instance ? std::optional{instance->instance_id} : std::nullopt,
                       row->item,
                       item ? std::string_view{"not an ActivityExecute"} : item.error().message);
            remove_work(tx, *row);
            drop_instance_if_unused(tx, row->instance);
            continue;
        }
        WorkLease lease{.item = std::move(*activity),
                        .lock_token = new_token('w', row->seq, tx.life, tx.random),
                        .attempt_count = static_cast<std::uint32_t>(row->attempts + 1)};
        lease_work(tx, *row, lease.lock_token, tx.now.steady_after(request.lock_timeout));
        if (request.one_suspect && lease.attempt_count > suspect_after) { // P16
            tx.suspects.hold(lease.lock_token);
        }
        if (request.session && row->session) {
            claim_session(tx, *row->session, *request.session);
        }
        return lease;
    }
    return std::nullopt;
}

Result<> finish_work(Transaction& tx,
                     const std::string& lock_token,
                     const std::optional<WorkItem>& completion) {
    DURABLE_TRY_ASSIGN(const auto row, live_lease(tx, lock_token));
    if (completion) {
        if (!std::holds_alternative<work::ActivityCompleted>(*completion) &&
            !std::holds_alternative<work::ActivityFailed>(*completion)) {
            return fail(ErrorCode::invalid_argument,
                        "an activity ends with ActivityCompleted or ActivityFailed, not " +
                            std::string{type_name(*completion)});
        }
        DURABLE_TRY_ASSIGN(auto message, rules::to_message(*completion));
        message.visible_at = tx.now.wall;
        add_message(tx, message);
    }
    touch_session(tx, row);
    remove_work(tx, row);
    if (!completion) {
        tx.note_change();
        drop_instance_if_unused(tx, row.instance);
    }
    return {};
}

Result<> renew_work(Transaction& tx, const std::string& lock_token, Duration extend_for) {
    DURABLE_TRY_ASSIGN(const auto row, live_lease(tx, lock_token));
    extend_work(tx, row, tx.now.steady_after(extend_for));
    touch_session(tx, row);
    return {};
}

Result<> abandon_work(Transaction& tx,
                      const std::string& lock_token,
                      std::optional<Duration> delay,
                      bool ignore_attempt) {
    DURABLE_TRY_ASSIGN(const auto row, any_lease(tx, lock_token));
    const auto wait = std::max(delay.value_or(Duration::zero()), Duration::zero());
    const auto counted = ignore_attempt && row.attempts > 0 ? row.attempts - 1 : row.attempts;
    put_back(tx, row, tx.now.wall_after(wait), counted);
    return {};
}

std::uint64_t renew_sessions(Transaction& tx,
                             const std::vector<std::string>& owner_ids,
                             Duration extend_for,
                             Duration idle_timeout) {
    const auto until = tx.now.steady_after(extend_for);
    const auto active_after =
        add_saturating(tx.now.steady, -std::max(idle_timeout, Duration::zero()));
    const std::set<std::string> owners{owner_ids.begin(), owner_ids.end()};
    std::uint64_t renewed = 0;
    for (const auto& owner : owners) {
        run(tx.db,
            "UPDATE sessions SET until = ?2 WHERE owner = ?1 AND live = 1 AND active > ?3",
            owner,
            until,
            active_after);
        renewed += static_cast<std::uint64_t>(tx.db.changes());
    }
    if (renewed > 0) {
        tx.note_work_due(until);
    }
    return renewed;
}

std::uint64_t forget_sessions(Transaction& tx) {
    run(tx.db,
        "DELETE FROM sessions WHERE live = 0 AND until < ?1"
        " AND NOT EXISTS (SELECT 1 FROM work WHERE work.session = sessions.session)",
        tx.now.steady);
    return static_cast<std::uint64_t>(tx.db.changes());
}

} // namespace durable::sqlite
