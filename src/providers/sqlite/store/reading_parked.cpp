// Work that does not go on: given back with a reason, or ready and not fetched.

#include "providers/sqlite/store/reading.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace durable::sqlite {

namespace {

std::string shown_version(std::string version) {
    return version == "unknown" ? std::string{} : std::move(version);
}

void add_given_back(Connection& db, std::uint32_t limit, std::vector<ParkedWork>& found) {
    Query rows{db,
               "SELECT instance_id, name, version, parked_since_at, parked_reason,"
               " (SELECT max(attempts) FROM messages WHERE instance = i.id)"
               " FROM instances i WHERE parked_reason IS NOT NULL"
               " ORDER BY parked_since_at, instance_id LIMIT ?1",
               limit};
    while (rows.step()) {
        found.push_back({.kind = ParkedWork::Kind::turn,
                         .instance = rows.text(0),
                         .name = rows.text(1),
                         .version = shown_version(rows.text(2)),
                         .attempts = static_cast<std::uint32_t>(rows.integer(5)),
                         .since = rows.instant(3),
                         .reason = rows.text(4)});
    }
}

void add_ready_turns(Connection& db,
                     Instant before,
                     std::uint32_t limit,
                     std::vector<ParkedWork>& found) {
    Query rows{db,
               "SELECT i.instance_id, i.needs, m.visible_at,"
               " (SELECT max(attempts) FROM messages WHERE instance = i.id)"
               " FROM instances i JOIN messages m ON m.instance = i.id AND m.state = 1"
               " AND m.seq = i.head_seq"
               " WHERE i.place = 1 AND i.parked_reason IS NULL AND m.visible_at <= ?1"
               " ORDER BY m.visible_at, i.instance_id LIMIT ?2",
               before,
               limit};
    while (rows.step()) {
        auto code = TurnNeeds::parse(rows.view(1)).code;
        found.push_back({.kind = ParkedWork::Kind::turn,
                         .instance = rows.text(0),
                         .name = std::move(code.name),
                         .version = shown_version(std::move(code.version)),
                         .attempts = static_cast<std::uint32_t>(rows.integer(3)),
                         .since = rows.instant(2),
                         .reason = {}});
    }
}

void add_ready_work(Connection& db,
                    Instant before,
                    std::uint32_t limit,
                    std::vector<ParkedWork>& found) {
    Query rows{db,
               "SELECT i.instance_id, w.needs, w.visible_at, w.attempts FROM work w"
               " LEFT JOIN instances i ON i.id = w.instance"
               " WHERE w.state = 1 AND w.visible_at <= ?1"
               " ORDER BY w.visible_at, i.instance_id, w.seq LIMIT ?2",
               before,
               limit};
    while (rows.step()) {
        found.push_back({.kind = ParkedWork::Kind::activity,
                         .instance = rows.text(0),
                         .name = WorkNeeds::parse(rows.view(1)).name.value_or(""),
                         .version = {},
                         .attempts = static_cast<std::uint32_t>(rows.integer(3)),
                         .since = rows.instant(2),
                         .reason = {}});
    }
}

} // namespace

std::vector<ParkedWork>
list_parked(Connection& db, Instant now, Duration waited, std::uint32_t limit) {
    const auto before = add_saturating(now, -std::max(waited, Duration::zero()));
    std::vector<ParkedWork> found;
    add_given_back(db, limit, found);
    add_ready_turns(db, before, limit, found);
    add_ready_work(db, before, limit, found);
    std::ranges::sort(found, {}, [](const ParkedWork& parked) {
        return std::tie(parked.since, parked.instance, parked.kind, parked.name);
    });
    found.resize(std::min<std::size_t>(found.size(), limit));
    return found;
}

} // namespace durable::sqlite
