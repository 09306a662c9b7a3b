// Writer: the one connection that changes the store, fed by all callers at once.
//
// Whoever finds nobody at work takes everything that waits and makes one transaction of it. Calls
// that arrive meanwhile wait for the next one. A single caller pays no hand-over between threads,
// and whoever waits for the disk as well is woken once, by the sync.
// A refused call is undone alone: one that was refused after it had changed something, which only
// misuse brings about, makes the transaction be run again, with a savepoint for each call.

#pragma once

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "providers/sqlite/backlogs.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/log_reserve.hpp"
#include "providers/sqlite/log_sync.hpp"
#include "providers/sqlite/transaction.hpp"

#include <durable/result.hpp>
#include <durable/sqlite.hpp>
#include <durable/time.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace durable::sqlite {

class Writer {
 public:
    // A change. May be run again when its transaction had to be: whatever it assigns, it assigns
    // anew.
    using Change = std::function<Result<>(Transaction&)>;
    // Whether it makes work or takes it: those who take come last in their transaction.
    enum class Kind : std::uint8_t { makes, takes };
    // When the caller is told.
    enum class Telling : std::uint8_t {
        at_once,      // others will wait for the disk before anything that depends on it gets out
        once_durable, // when the disk has it, as far as the store promises
    };

    // Whoever wants to add something to transactions and hear of them, from the thread that makes
    // them; one at a time.
    class Companion : public Takers {
     public:
        virtual void before_commit(Transaction& tx) = 0;
        virtual void committed(const News& news) = 0; // the callers do not know yet
        virtual void undone() = 0;                    // what before_commit added, too
        virtual void broken() = 0;                    // for good: every call fails from now on
    };

    // `log_sync` may be nullptr: no promise needs it.
    Writer(std::unique_ptr<Connection> connection,
           std::shared_ptr<Clock> clock,
           std::shared_ptr<Random> random,
           const Options& options,
           Companion& companion,
           LogSync* log_sync,
           std::int64_t life);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    // Runs the change in a transaction and returns when that is committed, and on the disk if it is
    // told then. An error of the change undoes it alone. `announce`, if there is one, is called
    // before any change of that transaction, again when it has to be run again.
    [[nodiscard]] Result<>
    apply(Change change, Kind kind, Telling telling, std::function<void()> announce = {});

    // How many calls have come, and are done or wait in their order.
    [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
    // How many transactions were committed.
    [[nodiscard]] std::uint64_t transactions() const noexcept { return transactions_; }

    // From now on every call fails.
    void give_up(const Error& reason) DURABLE_EXCLUDES(connection_mutex_);
    // An error: why every call fails.
    [[nodiscard]] Result<> state() DURABLE_EXCLUDES(connection_mutex_);

    // Lends the connection, outside any transaction.
    [[nodiscard]] Result<> use(const std::function<void(Connection&)>& user)
        DURABLE_EXCLUDES(connection_mutex_);

    // A number that differs when another connection, of any process, has changed the store.
    // storage_failed: also when the file has lost its name.
    [[nodiscard]] Result<std::int64_t> foreign_version();

 private:
    struct Job {
        Change change;
        Kind kind = Kind::makes;
        Telling telling = Telling::at_once;
        std::function<void()> announce{};
        Result<> result{};
        bool committed = false; // and waits for the disk
        LogSync::Waiter waiter{};
        Job* before = nullptr; // it waited when this one came
    };
    // What is true as long as nobody else has changed the file.
    struct Known {
        std::uint32_t data_version = 0;
        Counters counters;
        Outlook outlook;
    };

    void lead(Job& own);
    [[nodiscard]] bool look_for_jobs();
    void answer(const std::vector<Job*>& batch, const Job& own);
    [[nodiscard]] Result<> finish(Job& job) DURABLE_EXCLUDES(connection_mutex_);
    void run_batch(const std::vector<Job*>& batch) DURABLE_EXCLUDES(connection_mutex_);
    [[nodiscard]] std::optional<Error> attempt(const std::vector<Job*>& batch, News& news)
        DURABLE_REQUIRES(connection_mutex_);
    // False: it has to be undone, and run again with savepoints.
    [[nodiscard]] bool run_jobs(const std::vector<Job*>& batch, Transaction& tx, bool savepoints)
        DURABLE_REQUIRES(connection_mutex_);
    [[nodiscard]] bool run_job(Job& job, Transaction& tx, bool savepoint)
        DURABLE_REQUIRES(connection_mutex_);
    static void look_after_suspects(Transaction& tx);
    void begin(Transaction& tx) DURABLE_REQUIRES(connection_mutex_);
    [[nodiscard]] std::optional<Error> commit(Transaction& tx) DURABLE_REQUIRES(connection_mutex_);
    void roll_back() DURABLE_REQUIRES(connection_mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::shared_ptr<Random> random_;
    const Options options_;
    Companion& companion_;
    LogSync* const log_sync_;
    const std::int64_t life_;

    Dormitories dormitories_;
    // The newest of those who wait; nobody_waits: somebody leads and has seen all; nullptr: nobody
    // leads. Not under a mutex: dozens of callers come at once from a sync, and if the one who has
    // the mutex lost its core, each of them would sleep and be woken once more.
    std::atomic<Job*> newest_ = nullptr;
    Job nobody_waits_;
    std::vector<Job*> seen_; // in their order; of the leader

    std::atomic<std::size_t> calls_ = 0;
    std::atomic<std::uint64_t> transactions_ = 0;
    Mutex connection_mutex_;
    Suspects suspects_ DURABLE_GUARDED_BY(connection_mutex_);
    Arrivals arrivals_ DURABLE_GUARDED_BY(connection_mutex_);
    Backlogs backlogs_ DURABLE_GUARDED_BY(connection_mutex_); // outlives the connection
    const std::unique_ptr<Connection> connection_ DURABLE_GUARDED_BY(connection_mutex_);
    LogReserve log_reserve_ DURABLE_GUARDED_BY(connection_mutex_);
    std::optional<Known> known_ DURABLE_GUARDED_BY(connection_mutex_);
    std::optional<Error> broken_ DURABLE_GUARDED_BY(connection_mutex_); // for good
    std::atomic<bool> is_broken_ = false;
};

} // namespace durable::sqlite
