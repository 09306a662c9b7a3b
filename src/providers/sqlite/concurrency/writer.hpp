// Writer: group commit. The one connection that changes the store; SqliteProvider calls apply()
// from any thread.
//
// The first caller leads: it runs the changes of all waiting callers in one transaction. Callers
// that come meanwhile wait for the next one. A single caller needs no hand-off between threads, and
// a caller that waits for the disk as well is woken once, by LogSync.
// P2: a refused change is undone alone. A change that was refused after it had written something,
// which only misuse causes, makes the transaction run again, with a savepoint for each change.

#pragma once

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "providers/sqlite/concurrency/log_sync.hpp"
#include "providers/sqlite/db/connection.hpp"
#include "providers/sqlite/db/log_reserve.hpp"
#include "providers/sqlite/store/backlogs.hpp"
#include "providers/sqlite/store/transaction.hpp"

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
    // A change. It may run again with its transaction, and then assigns its results anew.
    using Change = std::function<Result<>(Transaction&)>;
    // Whether it makes work or takes it: those that take run last in their transaction.
    enum class Kind : std::uint8_t { makes, takes };
    // When apply() returns.
    enum class AnswerWhen : std::uint8_t {
        at_once,      // after the commit: later calls wait for the disk before they answer (P12)
        once_durable, // when it is as durable as the store promises
    };

    // Adds to transactions and hears of them, on the leader's thread; one call at a time. Waiting
    // is the listener.
    class Listener : public Takers {
     public:
        virtual void before_commit(Transaction& tx) = 0;
        virtual void committed(const News& news) = 0; // before apply() returns to any caller
        virtual void undone() = 0;                    // with what before_commit added
        virtual void broken() = 0;                    // every call fails from now on
    };

    // `log_sync` may be nullptr: no promise needs it.
    Writer(std::unique_ptr<Connection> connection,
           std::shared_ptr<Clock> clock,
           std::shared_ptr<Random> random,
           const Options& options,
           Listener& listener,
           LogSync* log_sync,
           std::int64_t life);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    // Runs the change in a transaction and returns when that is committed, and durable if
    // `answer_when` says so. An error of the change undoes it alone. `announce`, if given, is
    // called before any change of that transaction; once more when the transaction runs again.
    [[nodiscard]] Result<>
    apply(Change change, Kind kind, AnswerWhen answer_when, std::function<void()> announce = {});

    // How many calls of apply() have begun.
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

    // A number that changes when another connection, of any process, changes the store.
    // storage_failed: also when the file is no longer the one with the store's name.
    [[nodiscard]] Result<std::int64_t> foreign_version();

 private:
    struct Job {
        Change change;
        Kind kind = Kind::makes;
        AnswerWhen answer_when = AnswerWhen::at_once;
        std::function<void()> announce{};
        Result<> result{};
        bool committed = false; // and its caller waits for the disk
        LogSync::Waiter waiter{};
        Job* before = nullptr; // the next older one in the list
    };
    // What was read, valid until another connection changes the file.
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
    // False: the transaction has to be undone and run again with savepoints.
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
    Listener& listener_;
    LogSync* const log_sync_;
    const std::int64_t life_;

    WaitWords wait_words_;
    // A lock-free list of waiting jobs, newest first. &no_jobs_: there is a leader, and it has seen
    // all jobs; nullptr: there is no leader. Not under a mutex: a sync wakes dozens of callers at
    // once, and all of them would have to sleep again if the holder of the mutex lost its core.
    std::atomic<Job*> newest_ = nullptr;
    Job no_jobs_;
    std::vector<Job*> seen_; // oldest first; used by the leader

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
