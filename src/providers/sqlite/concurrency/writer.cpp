#include "providers/sqlite/concurrency/writer.hpp"

#include "base/check.hpp"
#include "providers/sqlite/db/sqlite_error.hpp"
#include "providers/sqlite/store/schema.hpp"
#include "providers/sqlite/store/turn_queue.hpp"
#include "providers/sqlite/store/work_queue.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace durable::sqlite {

namespace {

// A larger batch delays its first callers and gains nothing.
constexpr std::size_t largest_batch = 512;
// How many transactions in a row one caller leads at most before its own call returns.
constexpr int most_rounds = 16;

} // namespace

Writer::Writer(std::unique_ptr<Connection> connection,
               std::shared_ptr<Clock> clock,
               std::shared_ptr<Random> random,
               const Options& options,
               Listener& listener,
               LogSync* log_sync,
               std::int64_t life)
    : clock_{std::move(clock)},
      random_{std::move(random)},
      options_{options},
      listener_{listener},
      log_sync_{log_sync},
      life_{life},
      connection_{std::move(connection)} {
    connection_->watch_rows("instances",
                            [backlogs = &backlogs_](std::int64_t row) { backlogs->forget(row); });
}

Writer::~Writer() = default;

Result<>
Writer::apply(Change change, Kind kind, AnswerWhen answer_when, std::function<void()> announce) {
    Job job{.change = std::move(change),
            .kind = kind,
            .answer_when = answer_when,
            .announce = std::move(announce)};
    job.waiter.ticket.join(wait_words_);
    job.before = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(
        job.before, &job, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    calls_.fetch_add(1, std::memory_order_relaxed);
    const auto leads = job.before == nullptr;
    if (leads || (job.waiter.ticket.wait() == Ticket::Call::lead && !job.committed)) {
        lead(job);
    }
    return finish(job);
}

Result<> Writer::finish(Job& job) {
    if (job.committed) {
        job.result = log_sync_->finish(job.waiter);
        if (!job.result) {
            give_up(job.result.error());
        }
    }
    return std::move(job.result);
}

// Runs the waiting jobs, its own included, and those that come meanwhile: the connection would be
// idle while another leader wakes up. After most_rounds it calls the first waiter to lead.
void Writer::lead(Job& own) {
    std::vector<Job*> batch;
    for (int round = 0; look_for_jobs(); ++round) {
        if (round == most_rounds) {
            seen_.front()->waiter.ticket.call_to_lead();
            return;
        }
        if (round > 0 || seen_.size() > 1) {
            // Callers come at the same time: lets those that can run now join this transaction.
            std::this_thread::yield();
            (void)look_for_jobs();
        }
        const auto end =
            seen_.begin() + static_cast<std::ptrdiff_t>(std::min(seen_.size(), largest_batch));
        batch.assign(seen_.begin(), end);
        seen_.erase(seen_.begin(), end);
        run_batch(batch);
        answer(batch, own);
    }
}

// False: no job waits, and the caller leads no more.
bool Writer::look_for_jobs() {
    const auto known = static_cast<std::ptrdiff_t>(seen_.size());
    auto* none = &no_jobs_;
    if (known == 0 && newest_.compare_exchange_strong(none, nullptr, std::memory_order_acq_rel)) {
        return false;
    }
    auto* job = newest_.exchange(&no_jobs_, std::memory_order_acq_rel);
    for (; job != nullptr && job != &no_jobs_; job = job->before) {
        seen_.push_back(job);
    }
    std::reverse(seen_.begin() + known, seen_.end());
    return true;
}

// Callers that wait for the disk sleep on: LogSync wakes them.
void Writer::answer(const std::vector<Job*>& batch, const Job& own) {
    std::vector<LogSync::Waiter*> for_the_disk;
    std::vector<Job*> done;
    for (auto* job : batch) {
        if (log_sync_ != nullptr && job->result && job->answer_when == AnswerWhen::once_durable) {
            job->committed = true;
            job->waiter.occupied = job == &own;
            for_the_disk.push_back(&job->waiter);
        } else if (job != &own) {
            done.push_back(job);
        }
    }
    if (!for_the_disk.empty()) {
        log_sync_->add(for_the_disk); // first: the sync takes longest
    }
    WakeList to_wake;
    for (auto* job : done) {
        job->waiter.ticket.call_done(to_wake);
    }
    to_wake.wake();
}

void Writer::run_batch(const std::vector<Job*>& batch) {
    News news;
    std::optional<Error> error;
    {
        const MutexLock lock{connection_mutex_};
        error = broken_;
        if (!error) {
            error = attempt(batch, news);
            if (error && connection_->file_is_gone()) {
                error = file_is_gone(connection_->path());
            }
            if (connection_->take_full()) {
                connection_
                    ->checkpoint(); // the log then restarts at its front and needs no more room
            }
        }
        if (error && !broken_ && error->code == ErrorCode::storage_failed) {
            broken_ = error; // what the disk has kept is unknown
            is_broken_ = true;
        }
    }
    if (!error) {
        listener_.committed(news);
        return;
    }
    listener_.undone();
    if (is_broken_) {
        listener_.broken();
    }
    for (auto* job : batch) {
        job->result = std::unexpected{*error};
    }
}

// One transaction. P2: on an error nothing of it happened.
std::optional<Error> Writer::attempt(const std::vector<Job*>& batch, News& news) {
    auto& db = *connection_;
    for (const auto savepoints : {false, true}) {
        run(db, "BEGIN IMMEDIATE");
        if (auto error = db.take_error()) {
            return error;
        }
        auto suspects = suspects_; // a copy: an undone transaction ends no hold
        Transaction tx{.db = db,
                       .random = *random_,
                       .backlogs = backlogs_,
                       .arrivals = arrivals_,
                       .suspects = suspects,
                       .takers = savepoints ? nullptr : &listener_,
                       .life = life_,
                       .unstarted_message_ttl =
                           std::max<Duration>(options_.unstarted_message_ttl, Duration::zero())};
        begin(tx);
        const auto before = tx.counters;
        advance_turns(tx);
        advance_work(tx);
        if (!run_jobs(batch, tx, savepoints)) {
            roll_back();
            listener_.undone();
            continue;
        }
        listener_.before_commit(tx);
        look_after_suspects(tx);
        if (tx.counters != before) {
            save_counters(db, tx.counters);
        }
        if (auto error = commit(tx)) {
            return error;
        }
        suspects_ = std::move(suspects);
        news = std::move(tx.news);
        news.version = tx.counters.change_version;
        break;
    }
    return std::nullopt;
}

// P16: waiters for either kind of work hear when a hold ends, also when it expires.
void Writer::look_after_suspects(Transaction& tx) {
    if (tx.suspects.idle()) {
        return;
    }
    if (const auto until = tx.suspects.held_until(tx.db, tx.now.steady)) {
        tx.note_turn_due(*until);
        tx.note_work_due(*until);
    }
    tx.news.suspects = tx.suspects.take_ended();
}

void Writer::begin(Transaction& tx) {
    // After BEGIN IMMEDIATE: waiting for the write lock takes time.
    tx.now = {.wall = clock_->now(), .steady = clock_->steady(), .rounding = rounding_of(*clock_)};
    if (!known_ || known_->data_version != tx.db.data_version()) {
        if (auto same = check_version(tx.db); !same) {
            tx.db.set_error(std::move(same).error());
        }
        known_ = Known{.counters = load_counters(tx.db)};
        backlogs_.clear();
        arrivals_.look_again();
        log_reserve_.forget_size();
    }
    if (options_.synchronous == Synchronous::full) {
        log_reserve_.keep(tx.db);
    }
    tx.counters = known_->counters;
    tx.outlook = known_->outlook;
}

std::optional<Error> Writer::commit(Transaction& tx) {
    auto& db = tx.db;
    DURABLE_CHECK(db.failed() || tx.counters.noted_since(known_->counters),
                  "a transaction that a reader could notice raises the version");
    // With LogSync every sync checks this, before a caller is answered.
    if (log_sync_ == nullptr && !db.failed() && db.file_is_gone()) {
        db.set_error(file_is_gone(db.path()));
    }
    run(db, "COMMIT");
    if (auto error = db.take_error()) {
        roll_back();
        return error;
    }
    known_ =
        Known{.data_version = db.data_version(), .counters = tx.counters, .outlook = tx.outlook};
    if (log_sync_ != nullptr) {
        log_sync_->note_commit(tx.counters.change_version);
    }
    ++transactions_;
    return std::nullopt;
}

bool Writer::run_jobs(const std::vector<Job*>& batch, Transaction& tx, bool savepoints) {
    for (const auto* job : batch) {
        if (job->announce) {
            job->announce();
        }
    }
    // Changes that take work run after those that make it.
    for (const auto kind : {Kind::makes, Kind::takes}) {
        for (auto* job : batch) {
            if (job->kind == kind && !run_job(*job, tx, savepoints)) {
                return false;
            }
        }
    }
    return true;
}

bool Writer::run_job(Job& job, Transaction& tx, bool savepoint) {
    auto& db = tx.db;
    const auto counters = tx.counters;
    const auto changes = db.total_changes();
    if (savepoint) {
        run(db, "SAVEPOINT call");
    }
    job.result = job.change(tx);
    // Unknown when the change did not raise the version.
    const auto version = tx.counters.change_version;
    job.waiter.version = version == counters.change_version ? std::nullopt : std::optional{version};
    if (db.failed()) {
        return true; // commit() then fails and undoes the whole batch
    }
    const auto refused = !job.result;
    if (refused) {
        if (!savepoint && db.total_changes() != changes) {
            return false;
        }
        tx.counters = counters;
    }
    DURABLE_CHECK(tx.counters.noted_since(counters), "a change of the store raises its version");
    if (savepoint) {
        if (refused) {
            run(db, "ROLLBACK TO call");
            tx.backlogs.clear();
            tx.arrivals.forget();
        }
        run(db, "RELEASE call");
    }
    return true;
}

void Writer::roll_back() {
    known_.reset();
    backlogs_.clear();
    arrivals_.forget();
    if (connection_->in_transaction()) {
        connection_->execute("ROLLBACK");
        (void)connection_->take_error();
    }
}

void Writer::give_up(const Error& reason) {
    {
        const MutexLock lock{connection_mutex_};
        if (broken_) {
            return;
        }
        broken_ = reason;
        is_broken_ = true;
    }
    listener_.broken();
}

Result<> Writer::state() {
    if (!is_broken_) {
        return {};
    }
    const MutexLock lock{connection_mutex_};
    return std::unexpected{*broken_};
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
    auto used = use([&](Connection& db) {
        version = find_integer(db, "PRAGMA data_version").value_or(0);
        if (!db.failed() && db.file_is_gone()) {
            db.set_error(file_is_gone(db.path()));
        }
    });
    if (!used) {
        return std::unexpected{std::move(used).error()};
    }
    return version;
}

} // namespace durable::sqlite
