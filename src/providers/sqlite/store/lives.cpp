#include "providers/sqlite/store/lives.hpp"

#include <string>
#include <utility>
#include <vector>

namespace durable::sqlite {

namespace {

constexpr auto past = SteadyInstant::min();

std::vector<std::int64_t> ended_lives(Connection& db, const Life& own) {
    std::vector<std::int64_t> ended;
    if (!own.file) {
        return ended;
    }
    Query rows{db,
               "SELECT id FROM lives WHERE id <> ?1 AND device = ?2 AND inode = ?3",
               own.id,
               own.file->id().device,
               own.file->id().number};
    while (rows.step()) {
        if (own.file->is_over(rows.integer(0))) {
            ended.push_back(rows.integer(0));
        }
    }
    return ended;
}

} // namespace

Life begin_life(Connection& db, std::unique_ptr<LifeFile> file) {
    const auto id = find_integer(db, "SELECT next_life FROM store WHERE id = 1");
    if (!file || !id || !file->begin(*id)) {
        return {.file = std::move(file)};
    }
    run(db, "UPDATE store SET next_life = ?1 WHERE id = 1", *id + 1);
    run(db,
        "INSERT INTO lives (id, device, inode) VALUES (?1, ?2, ?3)",
        *id,
        file->id().device,
        file->id().number);
    return {.file = std::move(file), .id = *id};
}

void end_leases_of_ended_lives(Connection& db, const Life& own) {
    for (const auto life : ended_lives(db, own)) {
        const auto part = "-" + std::to_string(life) + "-"; // of a token
        run(db,
            "UPDATE instances INDEXED BY instances_leased SET until = ?1"
            " WHERE place = 3 AND instr(token, ?2) > 0",
            past,
            part);
        run(db,
            "UPDATE work INDEXED BY work_leased SET until = ?1"
            " WHERE state = 2 AND instr(token, ?2) > 0",
            past,
            part);
        run(db,
            "UPDATE sessions INDEXED BY sessions_by_end SET until = ?1, active = ?1"
            " WHERE live = 1 AND life = ?2",
            past,
            life);
        forget_life(db, life);
    }
}

void end_all_leases(Connection& db) {
    run(db, "UPDATE instances SET until = ?1 WHERE place = 3", past);
    run(db, "UPDATE work SET until = ?1 WHERE state = 2", past);
    run(db, "UPDATE sessions SET until = ?1, active = ?1", past);
    run(db, "DELETE FROM lives");
}

bool has_ended_lives(Connection& db, const Life& own) {
    return !ended_lives(db, own).empty();
}

void forget_life(Connection& db, std::int64_t life) {
    run(db, "DELETE FROM lives WHERE id = ?1", life);
}

} // namespace durable::sqlite
