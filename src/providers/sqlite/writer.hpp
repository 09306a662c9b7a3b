// Writer: the one connection that changes the store, fed by all callers at once.
//
// Whoever finds nobody at work takes everything that waits and makes one transaction of it. Calls
// that arrive meanwhile wait for the next one. A single caller pays no hand-over between threads.
// A refused call is undone alone: one that was refused after it had changed something, which only
// misuse brings about, makes the transaction be run again, with a savepoint for each call.

#pragma once

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/log_reserve.hpp"
#include "providers/sqlite/transaction.hpp"

#include <durable/result.hpp>
#include <durable/sqlite.hpp>
#include <durable/time.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

    // Whoever wants to add something to transactions and hear of them, from the thread that makes
    // them; one at a time.
    class Companion {
     public:
        Companion() = default;
        Companion(const Companion&) = delete;
        Companion& operator=(const Companion&) = delete;
        virtual ~Companion() = default;

        virtual void before_commit(Transaction& tx) = 0;
        virtual void committed(const News& news) = 0; // the callers do not know yet
        virtual void undone() = 0;                    // what before_commit added, too
    };

    Writer(std::unique_ptr<Connection> connection,
           std::shared_ptr<Clock> clock,
           std::shared_ptr<Random> random,
           const Options& options,
           Companion& companion);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    // Runs the change in a transaction and returns when that is committed, though not yet on the
    // disk. An error of the change undoes it alone.
    [[nodiscard]] Result<> apply(Change change, Kind kind = Kind::makes);

    // Counters::version of the last commit.
    [[nodiscard]] std::uint64_t committed_version() const noexcept { return committed_version_; }

    // How many transactions were committed.
    [[nodiscard]] std::uint64_t transactions() const noexcept { return transactions_; }

    // From now on every call fails.
    void give_up(const Error& reason) DURABLE_EXCLUDES(connection_mutex_);

    // Lends the connection, outside any transaction.
    [[nodiscard]] Result<> use(const std::function<void(Connection&)>& user)
        DURABLE_EXCLUDES(connection_mutex_);

    // A number that differs when another connection, of any process, has changed the store.
    [[nodiscard]] Result<std::int64_t> foreign_version();

 private:
    struct Job {
        Change change;
        Kind kind = Kind::makes;
        Result<> result{};

        std::mutex mutex; // its own: those who are woken do not queue up behind each other
        std::condition_variable turned;
        bool done = false;  // guarded by mutex
        bool leads = false; // likewise: its caller's turn
    };
    // What is true as long as nobody else has changed the file.
    struct Known {
        std::uint32_t data_version = 0;
        Counters counters;
        Outlook outlook;
    };

    void lead(Job& own);
    void run_batch(const std::vector<Job*>& batch) DURABLE_EXCLUDES(connection_mutex_);
    [[nodiscard]] std::optional<Error> attempt(const std::vector<Job*>& batch, News& news)
        DURABLE_REQUIRES(connection_mutex_);
    // False: it has to be undone, and run again with savepoints.
    [[nodiscard]] bool run_jobs(const std::vector<Job*>& batch, Transaction& tx, bool savepoints)
        DURABLE_REQUIRES(connection_mutex_);
    [[nodiscard]] bool run_job(Job& job, Transaction& tx, bool savepoint)
        DURABLE_REQUIRES(connection_mutex_);
    void begin(Transaction& tx) DURABLE_REQUIRES(connection_mutex_);
    [[nodiscard]] std::optional<Error> commit(Transaction& tx) DURABLE_REQUIRES(connection_mutex_);
    void roll_back() DURABLE_REQUIRES(connection_mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::shared_ptr<Random> random_;
    const Options options_;
    Companion& companion_;

    std::mutex queue_mutex_;
    std::vector<Job*> waiting_;
    bool busy_ = false;

    std::atomic<std::uint64_t> committed_version_ = 0;
    std::atomic<std::uint64_t> transactions_ = 0;
    Mutex connection_mutex_;
    const std::unique_ptr<Connection> connection_ DURABLE_GUARDED_BY(connection_mutex_);
    LogReserve log_reserve_ DURABLE_GUARDED_BY(connection_mutex_);
    std::optional<Known> known_ DURABLE_GUARDED_BY(connection_mutex_);
    std::optional<Error> broken_ DURABLE_GUARDED_BY(connection_mutex_); // for good
};

} // namespace durable::sqlite
