// Lives: the table of providers that have the store open. A life is one provider object, from its
// open to its end (db/life_file.hpp); when it is over, its leases end.

#pragma once

#include "providers/sqlite/db/connection.hpp"
#include "providers/sqlite/db/life_file.hpp"

#include <cstdint>
#include <memory>

namespace durable::sqlite {

// Of one provider. Its id is part of the tokens of its leases.
struct Life {
    std::unique_ptr<LifeFile> file; // nullptr: locks cannot tell lives apart here
    std::int64_t id = 0;            // 0: other processes cannot tell when it is over
};

// Each inside a transaction that writes.
[[nodiscard]] Life begin_life(Connection& db, std::unique_ptr<LifeFile> file);
void end_leases_of_ended_lives(Connection& db, const Life& own);
void end_all_leases(Connection& db); // also forgets all lives

// Whether there is a life that is over, and whose leases have not been ended.
[[nodiscard]] bool has_ended_lives(Connection& db, const Life& own);

// For a provider that is closed while its process goes on: its leases last until they expire.
void forget_life(Connection& db, std::int64_t life);

} // namespace durable::sqlite
