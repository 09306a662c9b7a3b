#include "providers/sqlite/store/schema.hpp"

#include "base/try.hpp"
#include "providers/sqlite/store/turn_needs.hpp"

#include <durable/codec.hpp>

#include <string>
#include <utility>
#include <vector>

namespace durable::sqlite {

namespace {

std::unexpected<Error> refuse(const Connection& db, ErrorCode code, const std::string& why) {
    return fail(code, db.path() + ": " + why);
}

// Whether the file is empty or ours, and not newer than `newest`. Inside a transaction: another
// process may be making the schema.
Result<> check_ours(Connection& db, std::int64_t newest) {
    const auto tables = find_integer(db, "SELECT count(*) FROM sqlite_schema").value_or(0);
    const auto version = find_integer(db, "PRAGMA user_version").value_or(0);
    const auto owner = find_integer(db, "PRAGMA application_id").value_or(0);
    const auto utf8 =
        find_integer(db, "SELECT encoding = 'UTF-8' FROM pragma_encoding").value_or(0) != 0;
    if (auto error = db.take_error()) {
        return std::unexpected{*std::move(error)};
    }
    if (owner != application_id && (owner != 0 || version != 0 || tables > 0)) {
        return refuse(db, ErrorCode::invalid_argument, "this is a database of something else");
    }
    if (version < 0 || (owner == application_id && version == 0)) {
        return refuse(db,
                      ErrorCode::corrupt,
                      "the beginning of the file is damaged: its schema claims to be version " +
                          std::to_string(version) + ", and the first one is 1");
    }
    if (version > newest) {
        return refuse(db,
                      ErrorCode::unsupported,
                      "a newer version of the library wrote this file (its schema is " +
                          std::to_string(version) + ", the newest known here is " +
                          std::to_string(newest) + ")");
    }
    if (!utf8) {
        return refuse(db,
                      ErrorCode::invalid_argument,
                      "this database keeps texts as UTF-16, a store needs UTF-8: take a new file");
    }
    return {};
}

// Commits or rolls back, as `outcome` says, and answers the first error.
Result<> end_transaction(Connection& db, Result<> outcome) {
    if (outcome) {
        db.execute("COMMIT");
        if (auto error = db.take_error()) {
            outcome = std::unexpected{*std::move(error)};
        }
    }
    if (!outcome && db.in_transaction()) {
        db.execute("ROLLBACK");
        (void)db.take_error();
    }
    return outcome;
}

// Older versions store no needs: they are derived from the texts of items and instances.
constexpr std::int64_t first_with_needs = 5;

void fill_work_needs(Connection& db) {
    constexpr int some = 1000;
    std::vector<std::pair<std::int64_t, std::string>> found{{0, {}}};
    while (!found.empty()) {
        const auto last = found.back().first;
        found.clear();
        {
            Query rows{db,
                       "SELECT seq, tag, attempts, item FROM work WHERE seq > ?1"
                       " ORDER BY seq LIMIT ?2",
                       last,
                       some};
            while (rows.step()) {
                const auto item = decode_work_item(rows.view(3));
                const auto* activity = item ? std::get_if<work::ActivityExecute>(&*item) : nullptr;
                const WorkNeeds needs{
                    .tag = rows.optional_text(1),
                    .suspect = rows.integer(2) >= static_cast<std::int64_t>(suspect_after),
                    .name = activity != nullptr ? std::optional{activity->name} : std::nullopt};
                found.emplace_back(rows.integer(0), needs.text());
            }
        }
        for (const auto& [seq, needs] : found) {
            run(db, "UPDATE work SET needs = ?2 WHERE seq = ?1", seq, needs);
        }
    }
    db.execute("INSERT INTO work_groups (session, needs, head_seq, live)"
               " SELECT session, needs, min(CASE WHEN state = 1 THEN seq END), EXISTS"
               " (SELECT 1 FROM sessions s WHERE s.session = work.session AND s.live = 1)"
               " FROM work WHERE session IS NOT NULL GROUP BY session, needs");
}

void fill_needs(Connection& db) {
    fill_work_needs(db);
    std::vector<std::int64_t> ready;
    {
        Query rows{db, "SELECT id FROM instances WHERE place = ?1", Place::ready};
        while (rows.step()) {
            ready.push_back(rows.integer(0));
        }
    }
    for (const auto id : ready) {
        if (auto row = find_instance(db, id)) {
            (void)determine_needs(db, *row);
            save_place(db, *row);
        }
    }
}

void upgrade(Connection& db, std::span<const char* const> steps) {
    const auto newest = static_cast<std::int64_t>(steps.size());
    const auto version = find_integer(db, "PRAGMA user_version").value_or(0);
    for (auto step = version; step < newest; ++step) {
        db.execute(steps[static_cast<std::size_t>(step)]);
    }
    if (version < first_with_needs && newest >= first_with_needs) {
        fill_needs(db);
    }
    if (version < newest) {
        db.execute(("PRAGMA user_version = " + std::to_string(newest)).c_str());
        db.execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
    }
}

} // namespace

Result<> migrate(Connection& db) {
    return migrate(db, migrations());
}

Result<> migrate(Connection& db, std::span<const char* const> steps) {
    const auto newest = static_cast<std::int64_t>(steps.size());
    db.execute("BEGIN"); // before anything is written
    DURABLE_TRY(end_transaction(db, check_ours(db, newest)));
    db.execute_patiently("PRAGMA journal_mode = WAL");
    // Again under the write lock: another process may have migrated meanwhile.
    db.execute("BEGIN IMMEDIATE");
    auto ours = check_ours(db, newest);
    if (ours) {
        upgrade(db, steps);
    }
    return end_transaction(db, std::move(ours));
}

Result<> check_version(Connection& db) {
    const auto known = static_cast<std::int64_t>(migrations().size());
    const auto version = find_integer(db, "PRAGMA user_version").value_or(0);
    if (db.failed() || version == known) {
        return {};
    }
    return refuse(db,
                  ErrorCode::unsupported,
                  "another version of the library has changed this file while it was open (its "
                  "schema is " +
                      std::to_string(version) + ", known here is " + std::to_string(known) +
                      "): end this process, and start it again with that version");
}

} // namespace durable::sqlite
