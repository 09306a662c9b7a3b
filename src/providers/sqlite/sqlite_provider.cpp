#include "providers/sqlite/sqlite_provider.hpp"

#include "base/try.hpp"
#include "providers/rules/stored.hpp"
#include "providers/sqlite/store/activities.hpp"
#include "providers/sqlite/store/reading.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

using rules::failed;

SqliteProvider::SqliteProvider(std::unique_ptr<Connection> connection,
                               std::unique_ptr<LogSync> log_sync,
                               Life life,
                               const std::string& path,
                               const Options& options,
                               std::shared_ptr<Random> random)
    : in_memory_{path == memory_path},
      options_{options},
      log_sync_{std::move(log_sync)},
      life_{std::move(life)},
      waiting_{options.clock,
               [this] {
                   if (foreign_) {
                       foreign_->begin();
                   }
               }},
      writer_{std::move(connection),
              options.clock,
              std::move(random),
              options,
              waiting_,
              log_sync_.get(),
              life_.id},
      readers_{path, options} {
    if (!in_memory_) {
        (void)writer_.use([this](Connection& db) { readers_.expect_log(db.log_identity()); });
        // One reader opens the file now: it still works should the file be deleted later.
        (void)readers_.use([](Connection& db) { (void)store_version(db); });
        foreign_version_ = writer_.foreign_version().value_or(0);
        foreign_.emplace([this] { return look_around(); });
    }
}

SqliteProvider::~SqliteProvider() {
    foreign_.reset();
    (void)ensure_durable(std::nullopt); // no caller is left to report an error to
    if (life_.id != 0) {
        // The process goes on, perhaps with a running activity: its leases last until they expire.
        const auto forgotten = writer_.use([&](Connection& db) {
            db.stop_waiting();
            forget_life(db, life_.id);
        });
        if (!forgotten) {
            LifeFile::keep_until_exit(std::move(life_.file));
        }
    }
}

std::string SqliteProvider::version() const {
    return engine_version_text();
}

Durability SqliteProvider::durability() const noexcept {
    if (in_memory_) {
        return Durability::none;
    }
    return options_.synchronous == Synchronous::full ? Durability::power_loss
                                                     : Durability::process_crash;
}

// Calls that wait at the same time share a transaction.
std::size_t SqliteProvider::suitable_concurrency() const noexcept {
    return in_memory_ ? 0 : 64;
}

bool SqliteProvider::look_around() {
    if (log_sync_) { // P12: commits that no caller waits for reach the disk, too
        if (const auto version = read([](Connection&) {})) {
            (void)ensure_durable(*version);
        }
    }
    look_for_ended_lives();
    const auto version = look_at_file();
    // On an error as well: each waiter looks for itself and reports it.
    if (!version || *version != foreign_version_) {
        foreign_version_ = version.value_or(0);
        waiting_.wake_all();
    }
    return !waiting_.empty();
}

// After a failure the next interval tries again.
void SqliteProvider::look_for_ended_lives() {
    constexpr Duration interval{200};
    const auto now = system_clock()->steady(); // about other processes: not the clock of a test
    if (!life_.file || now - lives_seen_at_ < interval) {
        return;
    }
    lives_seen_at_ = now;
    auto ended = false;
    if (!read([&](Connection& db) { ended = has_ended_lives(db, life_); }) || !ended) {
        return;
    }
    const auto end_leases = [&](Transaction& tx) -> Result<> {
        end_leases_of_ended_lives(tx.db, life_);
        tx.outlook.turns.steady = Due::unknown;
        tx.outlook.work.steady = Due::unknown;
        return {};
    };
    if (writer_.apply(end_leases, Writer::Kind::makes, AnswerWhen::at_once)) {
        waiting_.wake_all();
    }
}

// A fetch that finds nothing writes nothing: it would not notice a deleted file.
Result<std::int64_t> SqliteProvider::look_at_file() {
    auto version = writer_.foreign_version();
    if (!version && version.error().code == ErrorCode::storage_failed) {
        writer_.give_up(version.error());
    }
    return version;
}

Result<> SqliteProvider::ensure_durable(StoreVersion version) {
    if (!log_sync_) {
        return {};
    }
    auto done = log_sync_->ensure(version);
    if (!done) {
        writer_.give_up(done.error());
    }
    return done;
}

Result<> SqliteProvider::carry_out(std::string_view operation,
                                   AnswerWhen answer_when,
                                   Writer::Change change) {
    if (auto done = writer_.apply(std::move(change), Writer::Kind::makes, answer_when); !done) {
        return failed(std::move(done).error(), operation);
    }
    if (log_sync_ && answer_when == AnswerWhen::at_once) {
        foreign_->begin();
    }
    return {};
}

Result<SqliteProvider::StoreVersion>
SqliteProvider::read(const std::function<void(Connection&)>& reader) {
    StoreVersion version;
    DURABLE_TRY(writer_.state());
    const auto look = [&](Connection& db) {
        if (log_sync_) {
            version = store_version(db);
        }
        reader(db);
    };
    auto done = in_memory_ ? writer_.use(look) : readers_.use(look);
    if (!done) {
        if (done.error().code == ErrorCode::storage_failed) {
            (void)look_at_file();
        }
        return std::unexpected{std::move(done).error()};
    }
    return version;
}

// ---- Turns

Result<> SqliteProvider::look(std::function<void()> announce, Writer::Change change) {
    return writer_.apply(
        std::move(change), Writer::Kind::takes, AnswerWhen::at_once, std::move(announce));
}

Result<std::optional<OrchestrationItem>>
SqliteProvider::fetch_orchestration_item(const FetchOrchestration& request) {
    constexpr std::string_view operation = "fetch_orchestration_item";
    if (request.filter && request.filter->supported.empty()) {
        return std::nullopt;
    }
    auto offer = waiting_.fetch<TurnOffer>(
        request,
        [&](auto announce, auto change) { return look(announce, change); },
        [&](Transaction& tx) { return fetch_turn(tx, request); },
        [&](Transaction& tx, FreshTurn& fresh) { return take_fresh_turn(tx, request, fresh); });
    if (!offer) {
        return failed(std::move(offer).error(), operation);
    }
    if (!*offer) {
        return std::nullopt;
    }
    auto& taken = **offer;
    if (!taken.has_history) {
        auto attached = read([&](Connection& db) { attach_history(db, taken, request.cached); });
        if (!attached) { // P13: an error leaves no lease and no attempt
            (void)abandon_orchestration_item({.lock_token = taken.item.lock_token,
                                              .delay = std::nullopt,
                                              .ignore_attempt = true});
            return failed(std::move(attached).error(), operation);
        }
    }
    return unpack(std::move(taken));
}

Result<> SqliteProvider::ack_orchestration_item(const TurnCommit& commit) {
    const auto prepared = rules::prepare_turn(commit);
    return carry_out("ack_orchestration_item", AnswerWhen::at_once, [&](Transaction& tx) {
        return commit_turn(tx, commit, prepared);
    });
}

Result<> SqliteProvider::abandon_orchestration_item(const AbandonTurn& abandon) {
    return carry_out("abandon_orchestration_item", AnswerWhen::at_once, [&](Transaction& tx) {
        return abandon_turn(tx, abandon);
    });
}

Result<> SqliteProvider::renew_orchestration_item_lock(const std::string& lock_token,
                                                       Duration extend_for) {
    return carry_out("renew_orchestration_item_lock", AnswerWhen::at_once, [&](Transaction& tx) {
        return renew_turn(tx, lock_token, extend_for);
    });
}

Result<std::vector<std::string>>
SqliteProvider::renew_leases(const std::vector<LeaseRenewal>& leases) {
    std::vector<std::string> lost;
    if (leases.empty()) {
        return lost;
    }
    DURABLE_TRY(carry_out("renew_leases", AnswerWhen::at_once, [&](Transaction& tx) -> Result<> {
        lost.clear();
        for (const auto& [of, token, extend_for] : leases) {
            const auto renewed = of == LeaseRenewal::Of::turn ? renew_turn(tx, token, extend_for)
                                                              : renew_work(tx, token, extend_for);
            if (!renewed) { // P3: lock_lost, and nothing was changed
                lost.push_back(token);
            }
        }
        return {};
    }));
    return lost;
}

Result<> SqliteProvider::append_with_execution(const std::string& instance,
                                               std::uint64_t execution_id,
                                               const std::vector<HistoryEvent>& events) {
    constexpr std::string_view operation = "append_with_execution";
    if (events.empty()) {
        return {};
    }
    if (auto good = rules::check_text(instance, "the instance id"); !good) {
        return failed(std::move(good).error(), operation);
    }
    const auto made = rules::to_events(events);
    if (!made) {
        return failed(made.error(), operation);
    }
    return carry_out(operation, AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
        auto row = get_instance(tx, instance);
        DURABLE_TRY(append_events(tx, row.id, execution_id, *made));
        tx.note_change();
        row.past = true;
        row.status = row.pending() ? std::nullopt : row.status; // with events it is not pending
        run(tx.db, "UPDATE instances SET past = 1, status = ?2 WHERE id = ?1", row.id, row.status);
        // The history may say how the instance started and which code it needs: file it anew.
        if (row.place == Place::aside || (row.place == Place::ready && !row.exists())) {
            leave(tx, row);
            file(tx, row, false, false);
            save_place(tx.db, row);
        }
        return {};
    });
}

Result<> SqliteProvider::enqueue_for_orchestrator(const WorkItem& item,
                                                  std::optional<Duration> delay) {
    constexpr std::string_view operation = "enqueue_for_orchestrator";
    auto message = rules::to_message(item);
    if (!message) {
        return failed(std::move(message).error(), operation);
    }
    return carry_out(operation, AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
        message->visible_at = rules::visible_at(
            item,
            tx.now.wall_after(std::max(delay.value_or(Duration::zero()), Duration::zero())),
            Duration::zero());
        add_message(tx, *message);
        return {};
    });
}

Result<> SqliteProvider::start_instance(const work::StartOrchestration& start,
                                        std::optional<Duration> delay) {
    constexpr std::string_view operation = "start_instance";
    const WorkItem item{start};
    auto message = rules::to_message(item);
    if (!message) {
        return failed(std::move(message).error(), operation);
    }
    return carry_out(operation, AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
        message->visible_at = rules::visible_at(
            item,
            tx.now.wall_after(std::max(delay.value_or(Duration::zero()), Duration::zero())),
            Duration::zero());
        return sqlite::start_instance(tx, start, *message);
    });
}

// ---- Activities

Result<> SqliteProvider::enqueue_for_worker(const WorkItem& item) {
    constexpr std::string_view operation = "enqueue_for_worker";
    const auto made = rules::to_work(item);
    if (!made) {
        return failed(made.error(), operation);
    }
    return carry_out(operation, AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
        add_work(tx, *made, get_instance(tx, made->activity.instance).id);
        return {};
    });
}

std::optional<SqliteProvider::Lease> SqliteProvider::take(Transaction& tx,
                                                          const FetchWork& request) {
    return with_version(tx, fetch_work(tx, request));
}

// The version of the store is at least that of the commit that queued the activity.
std::optional<SqliteProvider::Lease> SqliteProvider::with_version(const Transaction& tx,
                                                                  std::optional<WorkLease> lease) {
    return lease ? std::optional{Lease{.lease = *std::move(lease),
                                       .version = tx.counters.change_version}}
                 : std::nullopt;
}

Result<std::optional<WorkLease>> SqliteProvider::fetch_work_item(const FetchWork& request) {
    if (request.tags.mode() == TagFilter::Mode::none) {
        return std::nullopt;
    }
    constexpr std::string_view operation = "fetch_work_item";
    auto taken = waiting_.fetch<Lease>(
        request,
        [&](auto announce, auto change) { return look(announce, change); },
        [&](Transaction& tx) { return take(tx, request); },
        [&](Transaction& tx, FreshWork& fresh) {
            return with_version(tx, take_fresh_work(tx, request, fresh));
        });
    if (!taken) {
        return failed(std::move(taken).error(), operation);
    }
    if (!*taken) {
        return std::nullopt;
    }
    // P12: the commit that queued the activity must be on the disk before the activity runs.
    if (auto durable = ensure_durable((*taken)->version); !durable) {
        return failed(std::move(durable).error(), operation);
    }
    return std::move((*taken)->lease);
}

Result<> SqliteProvider::ack_work_item(const std::string& lock_token,
                                       const std::optional<WorkItem>& completion) {
    return carry_out("ack_work_item", AnswerWhen::at_once, [&](Transaction& tx) {
        return finish_work(tx, lock_token, completion);
    });
}

Result<> SqliteProvider::renew_work_item_lock(const std::string& lock_token, Duration extend_for) {
    return carry_out("renew_work_item_lock", AnswerWhen::at_once, [&](Transaction& tx) {
        return renew_work(tx, lock_token, extend_for);
    });
}

Result<> SqliteProvider::abandon_work_item(const std::string& lock_token,
                                           std::optional<Duration> delay,
                                           bool ignore_attempt) {
    return carry_out("abandon_work_item", AnswerWhen::at_once, [&](Transaction& tx) {
        return abandon_work(tx, lock_token, delay, ignore_attempt);
    });
}

Result<std::uint64_t> SqliteProvider::renew_session_lock(const std::vector<std::string>& owner_ids,
                                                         Duration extend_for,
                                                         Duration idle_timeout) {
    std::uint64_t renewed = 0;
    DURABLE_TRY(
        carry_out("renew_session_lock", AnswerWhen::at_once, [&](Transaction& tx) -> Result<> {
            renewed = renew_sessions(tx, owner_ids, extend_for, idle_timeout);
            return {};
        }));
    return renewed;
}

Result<std::uint64_t> SqliteProvider::cleanup_orphaned_sessions(Duration) {
    std::uint64_t forgotten = 0;
    DURABLE_TRY(carry_out(
        "cleanup_orphaned_sessions", AnswerWhen::at_once, [&](Transaction& tx) -> Result<> {
            forgotten = forget_sessions(tx);
            return {};
        }));
    return forgotten;
}

} // namespace durable::sqlite
