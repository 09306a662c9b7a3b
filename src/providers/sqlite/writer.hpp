// Writer: the one connection that changes the store, fed by all callers at once.
//
// Whoever finds nobody at work takes everything that waits and makes one transaction of it, with
// one savepoint per call, so that a refused call is undone alone. Calls that arrive meanwhile wait
// for the next one. A single caller pays no hand-over between threads.

#pragma once

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/log_reserve.hpp"
#include "providers/sqlite/transaction.hpp"

#include <durable/result.hpp>
#include <durable/sqlite.hpp>
#include <durable/time.hpp>

#include <condition_variable>
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
    // Hears what was committed, before the callers do, from the thread that committed.
    using Listener = std::function<void(const News&)>;

    Writer(std::unique_ptr<Connection> connection,
           std::shared_ptr<Clock> clock,
           std::shared_ptr<Random> random,
           const Options& options,
           Listener listener);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    // Runs the change in a transaction and returns when that is committed, though not yet on the
    // disk. An error of the change undoes it alone.
    [[nodiscard]] Result<> apply(Change change);

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
        Result<> result{};
        std::condition_variable turned; // done, or its caller's turn to lead
        bool done = false;
        bool leads = false;
    };

    void lead(Job& own);
    void run_batch(const std::vector<Job*>& batch) DURABLE_EXCLUDES(connection_mutex_);
    [[nodiscard]] std::optional<Error> attempt(const std::vector<Job*>& batch, News& news)
        DURABLE_REQUIRES(connection_mutex_);
    void run_job(Job& job, Transaction& tx) DURABLE_REQUIRES(connection_mutex_);
    void roll_back() DURABLE_REQUIRES(connection_mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::shared_ptr<Random> random_;
    const Options options_;
    const Listener listener_;

    std::mutex queue_mutex_;
    std::vector<Job*> waiting_;
    bool busy_ = false;

    Mutex connection_mutex_;
    const std::unique_ptr<Connection> connection_ DURABLE_GUARDED_BY(connection_mutex_);
    LogReserve log_reserve_ DURABLE_GUARDED_BY(connection_mutex_);
    std::optional<Error> broken_ DURABLE_GUARDED_BY(connection_mutex_); // for good
};

} // namespace durable::sqlite
