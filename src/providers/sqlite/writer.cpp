#include "providers/sqlite/writer.hpp"

#include "providers/sqlite/sqlite_error.hpp"
#include "providers/sqlite/turn_queue.hpp"
#include "providers/sqlite/work_queue.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace durable::sqlite {

namespace {

// More would keep the first ones waiting for long and gain nothing.
constexpr std::size_t largest_batch = 512;

} // namespace

Writer::Writer(std::unique_ptr<Connection> connection,
               std::shared_ptr<Clock> clock,
               std::shared_ptr<Random> random,
               const Options& options,
               Listener listener)
    : clock_{std::move(clock)},
      random_{std::move(random)},
      options_{options},
      listener_{std::move(listener)},
      connection_{std::move(connection)} {}

Writer::~Writer() = default;

Result<> Writer::apply(Change change) {
    Job job{.change = std::move(change)};
    {
        std::unique_lock lock{queue_mutex_};
        waiting_.push_back(&job);
        if (busy_) {
            job.turned.wait(lock, [&] { return job.done || job.leads; });
            if (job.done) {
                return std::move(job.result);
            }
        }
        busy_ = true;
    }
    lead(job);
    return std::move(job.result);
}

// Carries out what waits, the own job included, then leaves the rest to the first of them.
void Writer::lead(Job& own) {
    std::vector<Job*> batch;
    {
        const std::scoped_lock lock{queue_mutex_};
        if (waiting_.size() <= largest_batch) {
            batch.swap(waiting_);
        } else { // the oldest, and the own one: it leads because it is the oldest, or alone
            const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(largest_batch);
            batch.assign(waiting_.begin(), end);
            waiting_.erase(waiting_.begin(), end);
        }
    }
    run_batch(batch);
    const std::scoped_lock lock{queue_mutex_};
    for (auto* job : batch) {
        job->done = true;
        if (job != &own) {
            job->turned.notify_one();
        }
    }
    if (waiting_.empty()) {
        busy_ = false;
    } else {
        waiting_.front()->leads = true;
        waiting_.front()->turned.notify_one();
    }
}

void Writer::run_batch(const std::vector<Job*>& batch) {
    News news;
    {
        const MutexLock lock{connection_mutex_};
        auto error = broken_;
        if (!error) {
            error = attempt(batch, news);
        }
        if (error) {
            if (error->code == ErrorCode::storage_failed) {
                broken_ = error; // nobody knows what the disk has kept
            }
            for (auto* job : batch) {
                job->result = std::unexpected{*error};
            }
            return;
        }
    }
    if (!news.empty()) {
        listener_(news);
    }
}

// One transaction. An error: nothing of it happened.
std::optional<Error> Writer::attempt(const std::vector<Job*>& batch, News& news) {
    auto& db = *connection_;
    run(db, "BEGIN IMMEDIATE");
    if (auto error = db.take_error()) {
        return error;
    }
    if (options_.synchronous == Synchronous::full) {
        log_reserve_.keep(db);
    }
    Transaction tx{.db = db,
                   .random = *random_,
                   .unstarted_message_ttl =
                       std::max<Duration>(options_.unstarted_message_ttl, Duration::zero())};
    // After the lock is ours: waiting for it takes time, too.
    tx.now = {.wall = clock_->now(), .steady = clock_->steady()};
    tx.counters = load_counters(db);
    const auto before = tx.counters;
    advance_turns(tx);
    advance_work(tx);
    for (auto* job : batch) {
        run_job(*job, tx);
    }
    if (tx.counters != before) {
        save_counters(db, tx.counters);
    }
    if (!db.failed() && db.file_is_gone()) {
        db.set_error(file_is_gone(db.path()));
    }
    run(db, "COMMIT");
    if (auto error = db.take_error()) {
        roll_back();
        return error;
    }
    news = std::move(tx.news);
    return std::nullopt;
}

void Writer::run_job(Job& job, Transaction& tx) {
    auto& db = *connection_;
    const auto counters = tx.counters;
    run(db, "SAVEPOINT call");
    job.result = job.change(tx);
    if (db.failed()) {
        return; // the whole batch is undone
    }
    if (!job.result) {
        tx.counters = counters;
        run(db, "ROLLBACK TO call");
    }
    run(db, "RELEASE call");
}

void Writer::roll_back() {
    if (connection_->in_transaction()) {
        connection_->execute("ROLLBACK");
        (void)connection_->take_error();
    }
}

void Writer::give_up(const Error& reason) {
    const MutexLock lock{connection_mutex_};
    if (!broken_) {
        broken_ = reason;
    }
}

Result<> Writer::use(const std::function<void(Connection&)>& user) {
    const MutexLock lock{connection_mutex_};
    if (broken_) {
        return std::unexpected{*broken_};
    }
    user(*connection_);
    if (auto error = connection_->take_error()) {
        return std::unexpected{*std::move(error)};
    }
    return {};
}

Result<std::int64_t> Writer::foreign_version() {
    std::int64_t version = 0;
    auto used =
        use([&](Connection& db) { version = find_integer(db, "PRAGMA data_version").value_or(0); });
    if (!used) {
        return std::unexpected{std::move(used).error()};
    }
    return version;
}

} // namespace durable::sqlite
