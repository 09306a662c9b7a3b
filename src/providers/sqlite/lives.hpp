// Lives: the providers that have the store open, as its table tells, and the end of the leases of
// those that are over.

#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/life_file.hpp"

#include <cstdint>
#include <memory>

namespace durable::sqlite {

// Of one provider. Its id is part of the tokens of its leases.
struct Life {
    std::unique_ptr<LifeFile> file; // nullptr: lives cannot be told here
    std::int64_t id = 0;            // 0: nobody can tell when it is over
};

// Each inside a transaction that writes.
[[nodiscard]] Life begin_life(Connection& db, std::unique_ptr<LifeFile> file);
void end_leases_of_ended_lives(Connection& db, const Life& own);
void end_all_leases(Connection& db); // also forgets all lives

// Whether there is a life that is over, and whose leases have not been ended.
[[nodiscard]] bool has_ended_lives(Connection& db, const Life& own);

// Its leases last as long as they would have: the provider is closed, its process goes on.
void forget_life(Connection& db, std::int64_t life);

} // namespace durable::sqlite
