// Transaction: what a change of the store works with: the connection inside a SQLite transaction,
// the time, the counters, and the news for waiters. Writer makes one per batch.

#pragma once

#include "base/random.hpp"
#include "providers/rules/moment.hpp"
#include "providers/rules/stored.hpp"
#include "providers/sqlite/db/connection.hpp"
#include "providers/sqlite/store/arrivals.hpp"
#include "providers/sqlite/store/backlogs.hpp"
#include "providers/sqlite/store/needs.hpp"
#include "providers/sqlite/store/suspects.hpp"

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

using rules::Moment;

// The one row of `store`.
struct Counters {
    std::uint64_t next_seq = 0;
    std::uint64_t next_instance = 0;
    std::uint64_t next_number = 0;
    std::uint64_t next_lease = 0;
    std::uint64_t change_version = 0; // see Transaction::note_change
    std::uint64_t executions = 0;
    std::uint64_t events = 0;
    std::uint64_t quarantined = 0;
    std::uint64_t expired = 0;
    bool operator==(const Counters&) const = default;

    // False: a counter other than that of leases has changed, and note_change was forgotten.
    [[nodiscard]] bool noted_since(Counters before) const noexcept {
        before.next_lease = next_lease;
        return *this == before || change_version > before.change_version;
    }
};

[[nodiscard]] Counters load_counters(Connection& db);
void save_counters(Connection& db, const Counters& counters);

// Counters::change_version of what the connection sees.
[[nodiscard]] std::optional<std::uint64_t> store_version(Connection& db);

// On each clock a time before which nothing falls due; a lower bound.
struct Due {
    static constexpr auto unknown = std::numeric_limits<std::int64_t>::min();
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    std::int64_t wall = unknown;
    std::int64_t steady = unknown;

    [[nodiscard]] std::optional<Duration> wait(const Moment& now) const;
};

// What the next transaction need not look for: nothing becomes eligible or expires before these
// times.
struct Outlook {
    Due turns;
    Due work;
    std::int64_t aside_wall = Due::unknown; // the oldest message that waits for a start
    std::optional<bool> has_groups;         // of activities in sessions; false: there are none
    // Whether a cancelled instance was ready at the last look at all ready ones.
    bool cancellations = false;
};

// P11: what a committed change may end a wait for. Waiting reads it.
struct News {
    struct Turn { // of one instance
        TurnNeeds needs;
        std::optional<Instant> cancelled_at;
    };
    struct Work {
        WorkNeeds needs;
        bool in_session = false;
        std::optional<std::string> owner; // of the session, while a worker owns it
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
    std::uint64_t version = 0; // Counters::change_version
};

// Whether both requests may take the same work. Code is compared by value only where the pointers
// differ: threads of one runtime share theirs.
[[nodiscard]] inline bool fetch_the_same(const FetchOrchestration& one,
                                         const FetchOrchestration& other) {
    return one.filter.has_value() == other.filter.has_value() &&
           (!one.filter || one.filter->supported == other.filter->supported) &&
           one.one_suspect == other.one_suspect &&
           (one.code == other.code ||
            (one.code && other.code && one.code->versions == other.code->versions &&
             one.code->cancelled_for == other.code->cancelled_for));
}
[[nodiscard]] inline bool fetch_the_same(const FetchWork& one, const FetchWork& other) {
    return one.tags == other.tags && one.session.has_value() == other.session.has_value() &&
           (!one.session || (one.session->owner_id == other.session->owner_id &&
                             one.session->claim_new == other.session->claim_new)) &&
           one.one_suspect == other.one_suspect &&
           (one.code == other.code || (one.code && other.code && *one.code == *other.code));
}

struct Transaction;
struct InstanceRow;

// Work that is about to be queued. A waiter that takes it gets it at once: the store then writes it
// as leased, and it is never ready (hand-off).
struct FreshTurn {
    InstanceRow& row; // of an instance that has nothing else to do, not saved yet
    const rules::NewMessage& message;
    bool unseen = false; // the waiter has not looked: older work may be ready (P5)
    std::optional<Result<WorkItem>> item{}; // the message, once a waiter has decoded it
};
struct FreshWork {
    std::int64_t seq;
    const rules::NewWork& work; // in no session
    const WorkNeeds& needs;
    std::string token{}; // set by the waiter that took it
    SteadyInstant until{};
    bool unseen = false; // likewise
};

// Waiting fetches that a transaction may hand fresh work to; implemented by Waiting.
class Takers {
 public:
    Takers() = default;
    Takers(const Takers&) = delete;
    Takers& operator=(const Takers&) = delete;
    virtual ~Takers() = default;

    // False: no waiter took it.
    [[nodiscard]] virtual bool take(Transaction& tx, FreshTurn& fresh) = 0;
    [[nodiscard]] virtual bool take(Transaction& tx, FreshWork& fresh) = 0;
};

struct Transaction {
    Connection& db;
    Random& random;
    Backlogs& backlogs;
    Arrivals& arrivals;
    Suspects& suspects;
    Takers* takers = nullptr; // nullptr: no hand-off, since single changes may be undone
    std::int64_t life = 0;    // of this provider, see lives.hpp
    Duration unstarted_message_ttl{};
    Moment now{};
    Counters counters{};
    Outlook outlook{};
    News news{};
    // Whether older work was ready for a fetch like this one; asked once per transaction.
    std::optional<std::pair<const FetchOrchestration*, bool>> older_turns{};
    std::optional<std::pair<const FetchWork*, bool>> older_work{};

    // Every change that a reader could notice raises the version: the reader waits until that
    // version is on the disk (P12). Leases and attempts do not count.
    std::uint64_t note_change() { return ++counters.change_version; }
    // The number of a new message or activity.
    std::int64_t new_seq() {
        note_change();
        return static_cast<std::int64_t>(counters.next_seq++);
    }
    void note_turn_due(Instant at) { note_wall(outlook.turns, news.turn_due, at); }
    void note_turn_due(SteadyInstant at) { note_steady(outlook.turns, news.turn_due, at); }
    void note_work_due(Instant at) { note_wall(outlook.work, news.work_due, at); }
    void note_work_due(SteadyInstant at) { note_steady(outlook.work, news.work_due, at); }

 private:
    void note_wall(Due& due, std::optional<Duration>& soonest, Instant at) const {
        due.wall = std::min(due.wall, rules::key_of(at));
        note(soonest, rules::key_of(at), rules::key_of(now.wall));
    }
    void note_steady(Due& due, std::optional<Duration>& soonest, SteadyInstant at) const {
        due.steady = std::min(due.steady, rules::key_of(at));
        note(soonest, rules::key_of(at), rules::key_of(now.steady));
    }
    static void note(std::optional<Duration>& soonest, std::int64_t due, std::int64_t at) {
        rules::Soonest wait;
        wait.consider(due, at);
        if (!soonest || *wait.wait() < *soonest) {
            soonest = wait.wait();
        }
    }
};

} // namespace durable::sqlite
