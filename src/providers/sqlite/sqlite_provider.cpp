#include "providers/sqlite/sqlite_provider.hpp"

#include "base/process.hpp"
#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/sqlite/activities.hpp"
#include "providers/sqlite/reading.hpp"
#include "providers/sqlite/schema.hpp"

#include <utility>

namespace durable::sqlite {

using ledger::failed;

namespace {

constexpr std::string_view memory_path = ":memory:";

// Whoever held a lease before the machine was restarted is gone, and the clock that measured it
// began anew.
void end_leases_of_earlier_boots(Connection& db, const std::string& boot) {
    db.execute("BEGIN IMMEDIATE");
    const auto same = find_integer(db, "SELECT 1 FROM store WHERE boot = ?1", boot).has_value();
    if (!same) {
        constexpr auto past = SteadyInstant::min();
        run(db, "UPDATE instances SET until = ?1 WHERE place = 3", past);
        run(db, "UPDATE work SET until = ?1 WHERE state = 2", past);
        run(db, "UPDATE sessions SET until = ?1, active = ?1", past);
        run(db, "UPDATE store SET boot = ?1", boot);
    }
    db.execute("COMMIT");
}

Result<> set_up(Connection& db, const std::string& boot) {
    DURABLE_TRY(migrate(db));
    db.execute("PRAGMA synchronous = NORMAL"); // syncs are LogSync's
    db.execute("PRAGMA temp_store = MEMORY");
    db.execute("PRAGMA cache_size = -65536");
    db.checkpoint_every(4000);
    end_leases_of_earlier_boots(db, boot);
    if (auto error = db.take_error()) {
        return std::unexpected{*std::move(error)};
    }
    return {};
}

Result<std::unique_ptr<LogSync>> open_log_sync(const std::string& path, const Options& options) {
    DURABLE_TRY_ASSIGN(
        auto observer,
        Connection::open(path, {.vfs = options.vfs, .busy_timeout = options.busy_timeout}));
    (void)store_version(*observer); // opens the log
    auto made = std::make_unique<LogSync>(std::move(observer));
    DURABLE_TRY(made->ensure(std::nullopt));
    return made;
}

} // namespace

Result<std::shared_ptr<Provider>> open(const std::string& path, Options options) {
    return SqliteProvider::open(path, std::move(options));
}

Result<std::shared_ptr<SqliteProvider>>
SqliteProvider::open(const std::string& path, Options options, Machine machine) {
    constexpr std::string_view operation = "open";
    if (path.empty()) {
        return fail(ErrorCode::invalid_argument, "the path is empty", std::string{operation});
    }
    if (options.unstarted_message_ttl < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "sqlite::Options::unstarted_message_ttl must not be negative",
                    std::string{operation});
    }
    const auto boot = machine.boot_id ? *machine.boot_id : boot_id();
    if (boot.empty() && path != memory_path) {
        return fail(ErrorCode::storage_failed,
                    "the system does not tell when it was started, so leases cannot be kept: "
                    "/proc/sys/kernel/random/boot_id is not there",
                    std::string{operation});
    }
    if (!options.clock) {
        options.clock = system_clock();
    }
    auto connection = Connection::open(
        path,
        {.vfs = options.vfs, .busy_timeout = options.busy_timeout, .create = true, .writes = true});
    if (!connection) {
        return failed(std::move(connection).error(), operation);
    }
    if (auto ready = set_up(**connection, boot); !ready) {
        return failed(std::move(ready).error(), operation);
    }
    std::unique_ptr<LogSync> log_sync;
    if (options.synchronous == Synchronous::full && path != memory_path) {
        auto opened = open_log_sync(path, options);
        if (!opened) {
            return failed(std::move(opened).error(), operation);
        }
        log_sync = *std::move(opened);
    }
    return std::make_shared<SqliteProvider>(*std::move(connection),
                                            std::move(log_sync),
                                            path,
                                            options,
                                            machine.random ? std::move(machine.random)
                                                           : system_random());
}

SqliteProvider::SqliteProvider(std::unique_ptr<Connection> connection,
                               std::unique_ptr<LogSync> log_sync,
                               const std::string& path,
                               const Options& options,
                               std::shared_ptr<Random> random)
    : in_memory_{path == memory_path},
      options_{options},
      waiting_{options.clock,
               [this] {
                   if (foreign_) {
                       foreign_->begin();
                   }
               }},
      writer_{std::move(connection), options.clock, std::move(random), options, waiting_},
      readers_{path, options},
      log_sync_{std::move(log_sync)} {
    if (log_sync_) {
        log_sync_->learn_versions_from([this] { return writer_.committed_version(); });
    }
    if (!in_memory_) {
        // One has read before, should the file be deleted underneath.
        (void)readers_.use([](Connection& db) { (void)store_version(db); });
        foreign_version_ = writer_.foreign_version().value_or(0);
        foreign_.emplace([this] { return look_around(); });
    }
}

SqliteProvider::~SqliteProvider() {
    foreign_.reset();
    (void)ensure_durable(std::nullopt); // nobody is left to be told
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

// As many calls as wait at the same time share a transaction.
std::size_t SqliteProvider::suitable_concurrency() const noexcept {
    return in_memory_ ? 0 : 32;
}

bool SqliteProvider::look_around() {
    if (log_sync_) { // what nobody waits for gets to the disk, too
        if (const auto version = read([](Connection&) {})) {
            (void)ensure_durable(*version);
        }
    }
    const auto version = writer_.foreign_version();
    // An error is for the waiters to find: they look for themselves.
    if (!version || *version != foreign_version_) {
        foreign_version_ = version.value_or(0);
        waiting_.wake_all();
    }
    return !waiting_.empty();
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

Result<>
SqliteProvider::carry_out(std::string_view operation, Telling telling, Writer::Change change) {
    StoreVersion made; // stays empty when the version does not tell that something changed
    auto done = writer_.apply([&](Transaction& tx) {
        const auto before = tx.counters.version();
        auto changed = change(tx);
        const auto after = tx.counters.version();
        made = after == before ? std::nullopt : std::optional{after};
        return changed;
    });
    if (done && telling == Telling::once_durable) {
        done = ensure_durable(made);
    } else if (done && log_sync_) {
        foreign_->begin();
    }
    if (!done) {
        return failed(std::move(done).error(), operation);
    }
    return {};
}

Result<SqliteProvider::StoreVersion>
SqliteProvider::read(const std::function<void(Connection&)>& reader) {
    StoreVersion version;
    const auto look = [&](Connection& db) {
        if (log_sync_) {
            version = store_version(db);
        }
        reader(db);
    };
    DURABLE_TRY(in_memory_ ? writer_.use(look) : readers_.use(look));
    return version;
}

// ---- Turns

Result<Look<TurnOffer>> SqliteProvider::try_fetch(const FetchOrchestration& request) {
    Look<TurnOffer> seen;
    DURABLE_TRY(writer_.apply(
        [&](Transaction& tx) -> Result<> {
            seen.offer = fetch_turn(tx, request);
            seen.due = seen.offer ? std::nullopt : tx.outlook.turns.wait(tx.now);
            return {};
        },
        Writer::Kind::takes));
    return seen;
}

Result<std::optional<OrchestrationItem>>
SqliteProvider::fetch_orchestration_item(const FetchOrchestration& request) {
    constexpr std::string_view operation = "fetch_orchestration_item";
    if (request.filter && request.filter->supported.empty()) {
        return std::nullopt;
    }
    auto offer = waiting_.seek<TurnOffer>(
        request,
        [&] { return try_fetch(request); },
        [&](Transaction& tx) { return fetch_turn(tx, request); });
    if (!offer) {
        return failed(std::move(offer).error(), operation);
    }
    if (!*offer) {
        return std::nullopt;
    }
    auto& taken = **offer;
    if (!taken.has_history) {
        auto attached = read([&](Connection& db) { attach_history(db, taken, request.cached); });
        if (!attached) { // P13
            (void)abandon_orchestration_item(taken.item.lock_token, std::nullopt, true);
            return failed(std::move(attached).error(), operation);
        }
    }
    return unpack(std::move(taken));
}

Result<> SqliteProvider::ack_orchestration_item(const TurnCommit& commit) {
    const auto prepared = prepare(commit);
    return carry_out("ack_orchestration_item", Telling::at_once, [&](Transaction& tx) {
        return commit_turn(tx, commit, prepared);
    });
}

Result<> SqliteProvider::abandon_orchestration_item(const std::string& lock_token,
                                                    std::optional<Duration> delay,
                                                    bool ignore_attempt) {
    return carry_out("abandon_orchestration_item", Telling::at_once, [&](Transaction& tx) {
        return abandon_turn(tx, lock_token, delay, ignore_attempt);
    });
}

Result<> SqliteProvider::renew_orchestration_item_lock(const std::string& lock_token,
                                                       Duration extend_for) {
    return carry_out("renew_orchestration_item_lock", Telling::at_once, [&](Transaction& tx) {
        return renew_turn(tx, lock_token, extend_for);
    });
}

Result<> SqliteProvider::append_with_execution(const std::string& instance,
                                               std::uint64_t execution_id,
                                               const std::vector<HistoryEvent>& events) {
    constexpr std::string_view operation = "append_with_execution";
    if (events.empty()) {
        return {};
    }
    if (auto good = ledger::check_text(instance, "the instance id"); !good) {
        return failed(std::move(good).error(), operation);
    }
    const auto made = ledger::to_events(events, nullptr);
    if (!made) {
        return failed(made.error(), operation);
    }
    return carry_out(operation, Telling::once_durable, [&](Transaction& tx) -> Result<> {
        auto row = get_instance(tx, instance);
        DURABLE_TRY(append_events(tx, row.id, execution_id, *made));
        ++tx.counters.revision; // readers of other processes wait for the disk, too
        row.past = true;
        run(tx.db, "UPDATE instances SET past = 1 WHERE id = ?1", row.id);
        // A history can tell how an instance started.
        if (row.place == Place::parked) {
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
    auto message = ledger::to_message(item, 0, Instant{});
    if (!message) {
        return failed(std::move(message).error(), operation);
    }
    return carry_out(operation, Telling::once_durable, [&](Transaction& tx) -> Result<> {
        message->visible_at =
            ledger::visible_at(item, tx.now.wall, delay.value_or(Duration::zero()));
        add_message(tx, *message);
        return {};
    });
}

// ---- Activities

Result<> SqliteProvider::enqueue_for_worker(const WorkItem& item) {
    constexpr std::string_view operation = "enqueue_for_worker";
    const auto made = ledger::to_work(item, 0, Instant{});
    if (!made) {
        return failed(made.error(), operation);
    }
    return carry_out(operation, Telling::once_durable, [&](Transaction& tx) -> Result<> {
        add_work(tx, *made, get_instance(tx, made->activity.instance).id);
        return {};
    });
}

std::optional<SqliteProvider::Lease> SqliteProvider::take(Transaction& tx,
                                                          const FetchWork& request) {
    auto lease = fetch_work(tx, request);
    return lease
               ? std::optional{Lease{.lease = *std::move(lease), .version = tx.counters.version()}}
               : std::nullopt;
}

Result<Look<SqliteProvider::Lease>> SqliteProvider::try_fetch(const FetchWork& request) {
    Look<Lease> seen;
    DURABLE_TRY(writer_.apply(
        [&](Transaction& tx) -> Result<> {
            seen.offer = take(tx, request);
            seen.due = seen.offer ? std::nullopt : tx.outlook.work.wait(tx.now);
            return {};
        },
        Writer::Kind::takes));
    return seen;
}

Result<std::optional<WorkLease>> SqliteProvider::fetch_work_item(const FetchWork& request) {
    if (request.tags.mode() == TagFilter::Mode::none) {
        return std::nullopt;
    }
    constexpr std::string_view operation = "fetch_work_item";
    auto taken = waiting_.seek<Lease>(
        request,
        [&] { return try_fetch(request); },
        [&](Transaction& tx) { return take(tx, request); });
    if (!taken) {
        return failed(std::move(taken).error(), operation);
    }
    if (!*taken) {
        return std::nullopt;
    }
    // The turn that made it must not be undone after it ran.
    if (auto durable = ensure_durable((*taken)->version); !durable) {
        return failed(std::move(durable).error(), operation);
    }
    return std::move((*taken)->lease);
}

Result<> SqliteProvider::ack_work_item(const std::string& lock_token,
                                       const std::optional<WorkItem>& completion) {
    return carry_out("ack_work_item", Telling::at_once, [&](Transaction& tx) {
        return finish_work(tx, lock_token, completion);
    });
}

Result<> SqliteProvider::renew_work_item_lock(const std::string& lock_token, Duration extend_for) {
    return carry_out("renew_work_item_lock", Telling::at_once, [&](Transaction& tx) {
        return renew_work(tx, lock_token, extend_for);
    });
}

Result<> SqliteProvider::abandon_work_item(const std::string& lock_token,
                                           std::optional<Duration> delay,
                                           bool ignore_attempt) {
    return carry_out("abandon_work_item", Telling::at_once, [&](Transaction& tx) {
        return abandon_work(tx, lock_token, delay, ignore_attempt);
    });
}

Result<std::uint64_t> SqliteProvider::renew_session_lock(const std::vector<std::string>& owner_ids,
                                                         Duration extend_for,
                                                         Duration idle_timeout) {
    std::uint64_t renewed = 0;
    DURABLE_TRY(carry_out("renew_session_lock", Telling::at_once, [&](Transaction& tx) -> Result<> {
        renewed = renew_sessions(tx, owner_ids, extend_for, idle_timeout);
        return {};
    }));
    return renewed;
}

Result<std::uint64_t> SqliteProvider::cleanup_orphaned_sessions(Duration) {
    std::uint64_t forgotten = 0;
    DURABLE_TRY(
        carry_out("cleanup_orphaned_sessions", Telling::at_once, [&](Transaction& tx) -> Result<> {
            forgotten = forget_sessions(tx);
            return {};
        }));
    return forgotten;
}

} // namespace durable::sqlite
