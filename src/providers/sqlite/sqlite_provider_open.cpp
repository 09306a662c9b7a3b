// Opening a store: its file, its schema, and leases that ended processes have left.

#include "base/process.hpp"
#include "base/try.hpp"
#include "providers/rules/stored.hpp"
#include "providers/sqlite/db/store_file.hpp"
#include "providers/sqlite/sqlite_provider.hpp"
#include "providers/sqlite/store/lives.hpp"
#include "providers/sqlite/store/schema.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace durable::sqlite {

using rules::failed;

namespace {

// Ends the leases of processes that are gone: all of them when the machine was restarted, since the
// clock that measured them began anew.
Life begin(Connection& db, const std::string& boot, const Clock& clock, bool keeps_locks) {
    Life life;
    if (keeps_locks && !db.file().empty()) {
        life.file = LifeFile::open(db.file());
    }
    db.execute("BEGIN IMMEDIATE");
    const auto same = find_integer(db, "SELECT 1 FROM store WHERE boot = ?1", boot).has_value();
    if (same) {
        end_leases_of_ended_lives(db, life);
    } else {
        end_all_leases(db);
        run(db, "UPDATE store SET boot = ?1", boot);
    }
    life = begin_life(db, std::move(life.file));
    // For the view durable_pending: it shows the ends of leases in wall time.
    run(db,
        "UPDATE store SET wall_offset = ?1 WHERE id = 1 AND abs(wall_offset - ?1) > 1000",
        (clock.now().time_since_epoch() - clock.steady().time_since_epoch()).count());
    db.execute("COMMIT");
    return life;
}

Result<Life> set_up(Connection& db, const std::string& boot, const Clock& clock, bool keeps_locks) {
    DURABLE_TRY(migrate(db));
    db.execute("PRAGMA synchronous = NORMAL"); // syncs are LogSync's
    db.execute("PRAGMA temp_store = MEMORY");
    db.execute("PRAGMA cache_size = -65536");
    db.checkpoint_every(4000);
    auto life = begin(db, boot, clock, keeps_locks);
    db.expect_log(db.log_identity()); // the connection has opened it
    if (auto error = db.take_error()) {
        return std::unexpected{*std::move(error)};
    }
    return life;
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

// An absolute path: it stays valid when the process changes its directory, and SQLite does not take
// it for a URI.
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

std::uint32_t permissions(StoreAccess access) {
    return access == StoreAccess::group ? 0660 : 0600;
}

std::string octal(std::uint32_t permissions) {
    std::string text = "0";
    for (const auto shift : {6U, 3U, 0U}) {
        text += static_cast<char>('0' + ((permissions >> shift) & 7U));
    }
    return text;
}

// Warns, once per open, if more users can read the file than the options say.
void warn_of_readers(const std::string& file, const Options& options) {
    constexpr std::uint32_t all_may_read = 0444;
    for (const auto* part : {"", "-wal", "-shm"}) {
        const auto found = permissions_of(file + part);
        if (!found || (*found & all_may_read & ~permissions(options.access)) == 0) {
            continue;
        }
        const auto logger =
            options.logger ? options.logger : text_logger(std::cerr, LogLevel::warn);
        if (logger->enabled(LogLevel::warn, "store")) {
            const auto mode = octal(*found);
            const std::array<LogField, 2> fields{{{"file", file}, {"permissions", mode}}};
            logger->write({.level = LogLevel::warn,
                           .source = "store",
                           .message = "other users of this machine can read the store; it was made "
                                      "that way and is left so (chmod changes it)",
                           .time = options.clock->now(),
                           .fields = fields});
        }
        return;
    }
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
    errno = 0;
    const auto boot = machine.boot_id ? *machine.boot_id : boot_id();
    if (boot.empty() && path != memory_path) {
        if (errno == EMFILE || errno == ENFILE) {
            return fail(ErrorCode::unavailable,
                        path + ": there are too many files open (ulimit -n)",
                        std::string{operation});
        }
        return fail(ErrorCode::storage_failed,
                    "the system does not tell when it was started, so leases cannot be kept: "
                    "/proc/sys/kernel/random/boot_id is not there",
                    std::string{operation});
    }
    if (!options.clock) {
        options.clock = system_clock();
    }
    if (path != memory_path && options.vfs.empty()) {
        make_file(path, permissions(options.access));
    }
    auto connection = Connection::open(
        path, {.vfs = options.vfs, .busy_timeout = options.busy_timeout, .create = true});
    if (!connection) {
        return failed(std::move(connection).error(), operation);
    }
    const auto keeps_locks = machine.keeps_locks && options.vfs.empty();
    auto life = set_up(**connection, boot, *options.clock, keeps_locks);
    if (!life) {
        return failed(std::move(life).error(), operation);
    }
    if (options.vfs.empty() && path != memory_path) {
        warn_of_readers((*connection)->file(), options);
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
                                            *std::move(life),
                                            path,
                                            options,
                                            machine.random ? std::move(machine.random)
                                                           : system_random());
}

} // namespace durable::sqlite
