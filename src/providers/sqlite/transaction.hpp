// Transaction: what a call needs while it changes the store: the connection inside a transaction,
// the time, the counters, and a place to note what others may be waiting for.

#pragma once

#include "base/random.hpp"
#include "providers/ledger/moment.hpp"
#include "providers/ledger/record.hpp"
#include "providers/sqlite/arrivals.hpp"
#include "providers/sqlite/backlogs.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/needs.hpp"
#include "providers/sqlite/suspects.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>
#include <durable/work_item.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
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

    // Grows with every change that a reader could notice; leases and attempts do not count.
    [[nodiscard]] std::uint64_t version() const noexcept {
        return next_seq + next_instance + next_number + revision + quarantined + expired;
    }
};

[[nodiscard]] Counters load_counters(Connection& db);
void save_counters(Connection& db, const Counters& counters);

// Counters::version() of what the connection sees.
[[nodiscard]] std::optional<std::uint64_t> store_version(Connection& db);

// A time before which there is nothing to do, on each of the clocks; it may be too early.
struct Due {
    static constexpr auto unknown = std::numeric_limits<std::int64_t>::min();
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    std::int64_t wall = unknown;
    std::int64_t steady = unknown;

    [[nodiscard]] std::optional<Duration> wait(const Moment& now) const;
};

// What a transaction need not look for: most of it becomes eligible, or expires, by time.
struct Outlook {
    Due turns;
    Due work;
    std::int64_t aside_wall = Due::unknown; // the oldest message that waits for a start
    std::optional<bool> has_groups;         // of activities in sessions; false: there are none
    // Whether a cancelled instance was ready when somebody last looked at all of them.
    bool cancellations = false;
};

// What a committed change may end somebody's wait for.
struct News {
    struct Turn { // of one instance
        TurnNeeds needs;
        std::optional<Instant> cancelled_at;
    };
    struct Work {
        WorkNeeds needs;
        bool in_session = false;
        std::optional<std::string> owner; // of the session, while somebody owns it
        std::size_t items = 1;
    };
    struct Changed {
        std::string id;
        bool ended = false;                 // or deleted
        std::optional<InstanceState> state; // of one that has ended
    };

    std::vector<Turn> turns;
    std::vector<Work> work;
    bool suspects = false; // P16: a hold has ended, the next suspect may be given
    std::vector<Changed> instances;
    std::optional<Duration> turn_due; // from now
    std::optional<Duration> work_due;
    std::uint64_t version = 0; // Counters::version
};

// Whether both may take the same things. Code is compared by what it is only where it is not the
// very same: threads of one runtime share theirs.
[[nodiscard]] inline bool seek_the_same(const FetchOrchestration& one,
                                        const FetchOrchestration& other) {
    return one.filter.has_value() == other.filter.has_value() &&
           (!one.filter || one.filter->supported == other.filter->supported) &&
           one.one_suspect == other.one_suspect &&
           (one.code == other.code ||
            (one.code && other.code && one.code->versions == other.code->versions &&
             one.code->cancelled_for == other.code->cancelled_for));
}
[[nodiscard]] inline bool seek_the_same(const FetchWork& one, const FetchWork& other) {
    return one.tags == other.tags && one.session.has_value() == other.session.has_value() &&
           (!one.session || (one.session->owner_id == other.session->owner_id &&
                             one.session->claim_new == other.session->claim_new)) &&
           one.one_suspect == other.one_suspect &&
           (one.code == other.code || (one.code && other.code && *one.code == *other.code));
}

struct Transaction;
struct InstanceRow;

// What is about to be queued, and whoever takes it may get at once: it is stored as taken, without
// having been ready first.
struct FreshTurn {
    InstanceRow& row; // of an instance that has nothing else to do, not saved yet
    const ledger::NewMessage& message;
    bool unseen = false; // who gets it has not looked: something older may be ready
    std::optional<Result<WorkItem>> item{}; // the message, once somebody has decoded it
};
struct FreshWork {
    std::int64_t seq;
    const ledger::NewWork& work; // in no session
    const WorkNeeds& needs;
    std::string token{}; // by whoever took it
    SteadyInstant until{};
    bool unseen = false; // likewise
};

// Those who wait for something to do.
class Takers {
 public:
    Takers() = default;
    Takers(const Takers&) = delete;
    Takers& operator=(const Takers&) = delete;
    virtual ~Takers() = default;

    // False: nobody took it.
    [[nodiscard]] virtual bool take(Transaction& tx, FreshTurn& fresh) = 0;
    [[nodiscard]] virtual bool take(Transaction& tx, FreshWork& fresh) = 0;
};

struct Transaction {
    Connection& db;
    Random& random;
    Backlogs& backlogs;
    Arrivals& arrivals;
    Suspects& suspects;
    Takers* takers = nullptr; // nullptr: what is made may still be undone alone
    std::int64_t life = 0;    // of this provider, see lives.hpp
    Duration unstarted_message_ttl{};
    Moment now{};
    Counters counters{};
    Outlook outlook{};
    News news{};
    // Whether something was ready, before anything was made, for those who seek what this one does.
    std::optional<std::pair<const FetchOrchestration*, bool>> older_turns{};
    std::optional<std::pair<const FetchWork*, bool>> older_work{};

    void note_turn_due(Instant at) { note_wall(outlook.turns, news.turn_due, at); }
    void note_turn_due(SteadyInstant at) { note_steady(outlook.turns, news.turn_due, at); }
    void note_work_due(Instant at) { note_wall(outlook.work, news.work_due, at); }
    void note_work_due(SteadyInstant at) { note_steady(outlook.work, news.work_due, at); }

 private:
    void note_wall(Due& due, std::optional<Duration>& soonest, Instant at) const {
        due.wall = std::min(due.wall, ledger::key_of(at));
        note(soonest, ledger::key_of(at), ledger::key_of(now.wall));
    }
    void note_steady(Due& due, std::optional<Duration>& soonest, SteadyInstant at) const {
        due.steady = std::min(due.steady, ledger::key_of(at));
        note(soonest, ledger::key_of(at), ledger::key_of(now.steady));
    }
    static void note(std::optional<Duration>& soonest, std::int64_t due, std::int64_t at) {
        ledger::Soonest wait;
        wait.consider(due, at);
        if (!soonest || *wait.wait() < *soonest) {
            soonest = wait.wait();
        }
    }
};

} // namespace durable::sqlite
