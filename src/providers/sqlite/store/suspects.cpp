#include "providers/sqlite/store/suspects.hpp"

#include "providers/sqlite/store/token.hpp"

#include <algorithm>

namespace durable::sqlite {

namespace {

std::optional<SteadyInstant> leased_until(Connection& db, const std::string& token) {
    std::optional<std::int64_t> until;
    if (const auto instance = leased_number('t', token)) {
        until = find_integer(db,
                             "SELECT until FROM instances"
                             " WHERE id = ?1 AND place = 3 AND token = ?2",
                             *instance,
                             token);
    } else if (const auto seq = leased_number('w', token)) {
        until = find_integer(
            db, "SELECT until FROM work WHERE seq = ?1 AND state = 2 AND token = ?2", *seq, token);
    }
    return until ? std::optional{SteadyInstant{Duration{*until}}} : std::nullopt;
}

} // namespace

std::optional<SteadyInstant> Suspects::held_until(Connection& db, SteadyInstant now) {
    std::optional<SteadyInstant> latest;
    std::erase_if(tokens_, [&](const std::string& token) {
        const auto until = leased_until(db, token);
        if (until && *until > now) {
            latest = std::max(latest.value_or(*until), *until);
            return false;
        }
        ended_ = true;
        return true;
    });
    return latest;
}

} // namespace durable::sqlite
