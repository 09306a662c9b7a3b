// Opening a store: its file, its schema, and what an earlier run of the machine has left in it.

#include "base/process.hpp"
#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/sqlite/schema.hpp"
#include "providers/sqlite/sqlite_provider.hpp"
#include "providers/sqlite/store_file.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace durable::sqlite {

using ledger::failed;

namespace {

// Whoever held a lease before the machine was restarted is gone, and the clock that measured it
// began anew.
void end_leases_of_earlier_boots(Connection& db, const std::string& boot, const Clock& clock) {
    db.execute("BEGIN IMMEDIATE");
    const auto same = find_integer(db, "SELECT 1 FROM store WHERE boot = ?1", boot).has_value();
    if (!same) {
        constexpr auto past = SteadyInstant::min();
        run(db, "UPDATE instances SET until = ?1 WHERE place = 3", past);
        run(db, "UPDATE work SET until = ?1 WHERE state = 2", past);
        run(db, "UPDATE sessions SET until = ?1, active = ?1", past);
        run(db, "UPDATE store SET boot = ?1", boot);
    }
    // For people who look at the end of a lease.
    run(db,
        "UPDATE store SET wall_offset = ?1 WHERE id = 1 AND abs(wall_offset - ?1) > 1000",
        (clock.now().time_since_epoch() - clock.steady().time_since_epoch()).count());
    db.execute("COMMIT");
}

Result<> set_up(Connection& db, const std::string& boot, const Clock& clock) {
    DURABLE_TRY(migrate(db));
    db.execute("PRAGMA synchronous = NORMAL"); // syncs are LogSync's
    db.execute("PRAGMA temp_store = MEMORY");
    db.execute("PRAGMA cache_size = -65536");
    db.checkpoint_every(4000);
    end_leases_of_earlier_boots(db, boot, clock);
    db.expect_log(db.log_identity()); // it is open now
    if (auto error = db.take_error()) {
        return std::unexpected{*std::move(error)};
    }
    return {};
}

Result<> check(const std::string& path, const Options& options) {
    if (path.empty()) {
        return fail(ErrorCode::invalid_argument, "the path is empty");
    }
    if (path.contains('\0')) {
        return fail(ErrorCode::invalid_argument, "the path has a zero byte in it");
    }
    if (options.unstarted_message_ttl < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "sqlite::Options::unstarted_message_ttl must not be negative");
    }
    if (options.busy_timeout < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "sqlite::Options::busy_timeout must not be negative");
    }
    return {};
}

// The same file wherever the process goes, and no URI to SQLite, whatever its name is.
std::string full_path(const std::string& path, const Options& options) {
    if (path != memory_path && options.vfs.empty()) {
        std::error_code error;
        const auto full = std::filesystem::absolute(path, error);
        if (!error) {
            return full.string();
        }
    }
    return path.starts_with("file:") ? "./" + path : path;
}

Result<> check_names(const std::string& path) {
    const auto found = find_file(path);
    if (found && found->names > 1) {
        return fail(ErrorCode::invalid_argument,
                    path + ": the file has " + std::to_string(found->names) +
                        " names (hard links). Each would get a log of its own, and what is in the "
                        "log of one name is lost to the others: remove the other names");
    }
    return {};
}

Result<std::unique_ptr<LogSync>> open_log_sync(const std::string& path,
                                               const Options& options,
                                               std::optional<Connection::FileIdentity> log) {
    std::array<std::unique_ptr<Connection>, LogSync::lanes> observers;
    for (auto& observer : observers) {
        DURABLE_TRY_ASSIGN(
            observer,
            Connection::open(path, {.vfs = options.vfs, .busy_timeout = options.busy_timeout}));
        (void)store_version(*observer); // opens the log
        observer->expect_log(log);
    }
    auto made = std::make_unique<LogSync>(std::move(observers));
    DURABLE_TRY(made->ensure(std::nullopt));
    return made;
}

} // namespace

Result<std::shared_ptr<Provider>> open(const std::string& path, Options options) {
    return SqliteProvider::open(path, std::move(options));
}

Result<std::shared_ptr<SqliteProvider>>
SqliteProvider::open(const std::string& given, Options options, Machine machine) {
    constexpr std::string_view operation = "open";
    if (auto good = check(given, options); !good) {
        return failed(std::move(good).error(), operation);
    }
    const auto path = full_path(given, options);
    if (auto good = check_names(path); !good) {
        return failed(std::move(good).error(), operation);
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
    if (auto ready = set_up(**connection, boot, *options.clock); !ready) {
        return failed(std::move(ready).error(), operation);
    }
    std::unique_ptr<LogSync> log_sync;
    if (options.synchronous == Synchronous::full && path != memory_path) {
        auto opened = open_log_sync(path, options, (*connection)->expected_log());
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

} // namespace durable::sqlite
