// Transaction: what a call needs while it changes the store: the connection inside a transaction,
// the time, the counters, and a place to note what others may be waiting for.

#pragma once

#include "base/random.hpp"
#include "providers/ledger/moment.hpp"
#include "providers/sqlite/connection.hpp"

#include <durable/time.hpp>
#include <durable/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {

using ledger::Moment;

// The one row of `store`.
struct Counters {
    std::uint64_t next_seq = 0;
    std::uint64_t next_instance = 0;
    std::uint64_t next_number = 0;
    std::uint64_t next_lease = 0;
    std::uint64_t revision = 0;
    std::uint64_t executions = 0;
    std::uint64_t events = 0;
    std::uint64_t quarantined = 0;
    std::uint64_t expired = 0;
    bool operator==(const Counters&) const = default;

    // Grows with everything that is queued and with every turn; leases and attempts do not count.
    [[nodiscard]] std::uint64_t version() const noexcept {
        return next_seq + next_instance + next_number + revision;
    }
};

[[nodiscard]] Counters load_counters(Connection& db);
void save_counters(Connection& db, const Counters& counters);

// Counters::version() of what the connection sees.
[[nodiscard]] std::optional<std::uint64_t> store_version(Connection& db);

// What a committed change may end somebody's wait for.
struct News {
    struct Work {
        std::optional<std::string> tag;
        bool in_session = false;
        std::optional<std::string> owner; // of the session, while somebody owns it
        std::size_t items = 1;
    };

    std::vector<std::optional<Version>> turns; // by pinned version, one per instance
    std::vector<Work> work;
    std::vector<std::string> instances; // changed ones
    std::optional<Duration> turn_due;   // from now
    std::optional<Duration> work_due;

    [[nodiscard]] bool empty() const noexcept {
        return turns.empty() && work.empty() && instances.empty() && !turn_due && !work_due;
    }
};

struct Transaction {
    Connection& db;
    Random& random;
    Duration unstarted_message_ttl{};
    Moment now{};
    Counters counters{};
    News news{};

    void note_turn_due(std::int64_t due, std::int64_t at) { note(news.turn_due, due, at); }
    void note_work_due(std::int64_t due, std::int64_t at) { note(news.work_due, due, at); }

 private:
    static void note(std::optional<Duration>& soonest, std::int64_t due, std::int64_t at) {
        ledger::Soonest wait;
        wait.consider(due, at);
        if (!soonest || *wait.wait() < *soonest) {
            soonest = wait.wait();
        }
    }
};

} // namespace durable::sqlite
