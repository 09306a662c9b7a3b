#include "providers/sqlite/db/connection.hpp"

#include "base/deadline.hpp"
#include "providers/sqlite/db/sqlite_error.hpp"
#include "providers/sqlite/db/store_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

namespace durable::sqlite {

namespace {

// SQLite reports a missing directory and a missing permission alike; the errno tells them apart.
Error why_not_opened(sqlite3* db, int code, const std::string& path) {
    if (db == nullptr) {
        return to_error(code, sqlite3_errstr(code), path);
    }
    auto system = sqlite3_system_errno(db);
    if (system ==
        ENOENT) { // where SQLite cannot make the file, it tries to open it for reading last
        if (const auto reason = why_not_made(path); reason != 0) {
            system = reason;
        }
    }
    return to_error(sqlite3_extended_errcode(db), sqlite3_errmsg(db), path, system);
}

} // namespace

void Connection::Finalizer::operator()(sqlite3_stmt* statement) const noexcept {
    sqlite3_finalize(statement);
}

void Connection::Closer::operator()(sqlite3* db) const noexcept {
    sqlite3_close_v2(db);
}

Connection::Connection(sqlite3* db, std::string path, Duration busy_timeout)
    : db_{db}, path_{std::move(path)}, busy_timeout_{busy_timeout} {
    sqlite3_extended_result_codes(db_.get(), 1);
    sqlite3_busy_handler(db_.get(), &wait_while_busy, this);
}

Connection::~Connection() {
    cache_.clear(); // before the database closes
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path,
                                                     const Options& options) {
    sqlite3* db = nullptr;
    // Callers use a connection one at a time: SQLite's own mutexes are not needed.
    const auto flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (options.create ? SQLITE_OPEN_CREATE : 0);
    const auto* vfs = options.vfs.empty() ? nullptr : options.vfs.c_str();
    const auto code = sqlite3_open_v2(path.c_str(), &db, flags, vfs);
    std::unique_ptr<Connection> made{new Connection{db, path, options.busy_timeout}};
    if (code != SQLITE_OK) {
        return std::unexpected{why_not_opened(db, code, path)};
    }
    // SQLite opens a read-only file without an error; only a write would fail.
    if (sqlite3_db_readonly(db, "main") == 1) {
        return std::unexpected{to_error(SQLITE_READONLY, sqlite3_errstr(SQLITE_READONLY), path)};
    }
    if (const auto* full = sqlite3_db_filename(db, "main"); full != nullptr && *full != '\0') {
        made->file_ = full;
        made->log_.path = made->file_ + "-wal";
    }
    return made;
}

// SQLite's own busy handler backs off to a tenth of a second; a commit of another process ends
// within a few milliseconds.
int Connection::wait_while_busy(void* self, int tries) {
    const auto* connection = static_cast<const Connection*>(self);
    if (Duration{tries} >= connection->busy_timeout_) {
        return 0;
    }
    sqlite3_sleep(1);
    return 1;
}

void Connection::fail(int code) {
    const auto extended = sqlite3_extended_errcode(db_.get());
    code = extended == SQLITE_OK ? code : extended;
    // SQLite keeps no errno for a write that fails inside a COMMIT; the log's file does.
    const auto of_log = code == SQLITE_IOERR_WRITE ? log_errno() : 0;
    const auto system = of_log != 0 ? of_log : sqlite3_system_errno(db_.get());
    full_ = full_ || is_full(code, system);
    set_error(to_error(code, sqlite3_errmsg(db_.get()), path_, system));
}

void Connection::set_error(Error error) {
    if (!error_) {
        error_ = std::move(error);
    }
}

std::optional<Error> Connection::take_error() {
    return std::exchange(error_, std::nullopt);
}

void Connection::execute(const char* sql) {
    if (failed()) {
        return;
    }
    if (const auto code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
        code != SQLITE_OK) {
        fail(code);
    }
}

void Connection::execute_patiently(const char* sql) {
    const auto clock = durable::system_clock(); // waits for other processes
    const auto deadline = deadline_after(*clock, busy_timeout_);
    while (!failed()) {
        const auto code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
        const auto busy = (code & 0xff) == SQLITE_BUSY;
        if (busy && clock->steady() < deadline) {
            sqlite3_sleep(1);
            continue;
        }
        if (code != SQLITE_OK) {
            fail(code);
        }
        return;
    }
}

Connection::Statement Connection::prepare(std::string_view sql, bool keep) {
    sqlite3_stmt* made = nullptr;
    const auto code = sqlite3_prepare_v3(db_.get(),
                                         sql.data(),
                                         static_cast<int>(sql.size()),
                                         keep ? SQLITE_PREPARE_PERSISTENT : 0U,
                                         &made,
                                         nullptr);
    if (code != SQLITE_OK) {
        fail(code);
    }
    return Statement{made};
}

std::int64_t Connection::changes() const noexcept {
    return failed() ? 0 : sqlite3_changes64(db_.get());
}

std::int64_t Connection::total_changes() const noexcept {
    return sqlite3_total_changes64(db_.get());
}

std::uint32_t Connection::data_version() const noexcept {
    unsigned version = 0;
    (void)sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

bool Connection::in_transaction() const noexcept {
    return sqlite3_get_autocommit(db_.get()) == 0;
}

bool Connection::file_is_gone() const noexcept {
    int moved = 0;
    const auto code = sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return (code == SQLITE_OK && moved != 0) || (log_.expected && log_identity() != log_.expected);
}

std::optional<Connection::FileIdentity> Connection::log_identity() const noexcept {
    // Not stat(): it reads the times of the file, and the system then keeps them exactly. Every
    // sync of the log would write them too, which takes as long as the sync itself.
    struct statx found{};
    if (log_.path.empty() ||
        ::statx(AT_FDCWD, log_.path.c_str(), AT_STATX_DONT_SYNC, STATX_INO, &found) != 0) {
        return std::nullopt;
    }
    return FileIdentity{.device = (std::uint64_t{found.stx_dev_major} << 32U) | found.stx_dev_minor,
                        .number = found.stx_ino};
}

void Connection::watch_rows(const char* table, std::function<void(std::int64_t)> changed) {
    watched_ = {.table = table, .changed = std::move(changed)};
    sqlite3_update_hook(db_.get(), &note_row, &watched_);
}

void Connection::note_row(
    void* watched, int /*operation*/, const char* /*name*/, const char* table, long long row) {
    const auto& self = *static_cast<const Watched*>(watched);
    if (table == self.table) {
        self.changed(row);
    }
}

// ---- The write-ahead log

// Replaces SQLite's own hook for automatic checkpoints, which does not report the size of the log.
int Connection::note_commit(void* log, sqlite3* db, const char* name, int pages) {
    auto* self = static_cast<Log*>(log);
    self->pages = pages;
    if (pages >= self->checkpoint_at) {
        // As far as it gets without waiting. After a failure the next commit tries again.
        (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    }
    return SQLITE_OK;
}

void Connection::checkpoint_every(int pages) {
    log_.checkpoint_at = pages;
    sqlite3_wal_hook(db_.get(), &note_commit, &log_);
}

void Connection::checkpoint() {
    (void)sqlite3_wal_checkpoint_v2(db_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

sqlite3_file* Connection::log_file() {
    sqlite3_file* file = nullptr;
    const auto code = sqlite3_file_control(
        db_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&file));
    return code == SQLITE_OK && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

int Connection::log_errno() {
    auto* file = log_file();
    int found = 0;
    if (file != nullptr) {
        (void)file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &found);
    }
    return found;
}

std::optional<std::int64_t> Connection::log_size() {
    auto* file = log_file();
    sqlite3_int64 size = 0;
    if (file == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
        return std::nullopt;
    }
    return size;
}

bool Connection::extend_log(std::int64_t from, std::int64_t to) {
    static constexpr std::array<char, 65'536> zeros{};
    auto* file = log_file();
    auto good = file != nullptr;
    for (auto at = from; good && at < to; at += static_cast<std::int64_t>(zeros.size())) {
        const auto size = std::min(to - at, static_cast<std::int64_t>(zeros.size()));
        good = file->pMethods->xWrite(file, zeros.data(), static_cast<int>(size), at) == SQLITE_OK;
    }
    return good;
}

void Connection::sync_log() {
    auto* file = log_file();
    const auto code =
        file == nullptr ? SQLITE_IOERR_FSYNC : file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    const auto system = file == nullptr ? 0 : errno;
    if (code != SQLITE_OK) {
        set_error(to_error(code, sqlite3_errstr(code), path_, system));
    }
}

std::vector<std::string> Connection::statements() const {
    std::vector<std::string> texts;
    texts.reserve(cache_.size());
    for (const auto& [sql, statement] : cache_) {
        texts.emplace_back(sql);
    }
    std::ranges::sort(texts);
    return texts;
}

Query::Query(Connection& db, const char* sql) : db_{db} {
    if (db_.failed()) {
        return;
    }
    const auto found = db_.cache_.find(sql);
    if (found == db_.cache_.end()) {
        statement_ = db_.prepare(sql, true);
        if (statement_ != nullptr) {
            place_ = &db_.cache_[sql];
        }
    } else if (found->second != nullptr) {
        place_ = &found->second;
        statement_ = std::move(found->second);
    } else { // a caller further up uses the cached statement
        statement_ = db_.prepare(sql, false);
    }
}

Query::~Query() {
    if (statement_ == nullptr) {
        return;
    }
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    if (place_ != nullptr) {
        *place_ = std::move(statement_);
    }
}

bool Query::step() {
    if (statement_ == nullptr || db_.failed()) {
        return false;
    }
    const auto code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        db_.fail(code);
    }
    return code == SQLITE_ROW;
}

void Query::bind_integer(int index, std::int64_t value) {
    if (statement_ != nullptr) {
        sqlite3_bind_int64(statement_.get(), index, value);
    }
}

void Query::bind_text(int index, std::string_view value) {
    if (statement_ == nullptr) {
        return;
    }
    const auto* data = value.data() == nullptr ? "" : value.data();
    if (const auto code = sqlite3_bind_text64(
            statement_.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
        code != SQLITE_OK) {
        db_.fail(code);
    }
}

void Query::bind_null(int index) {
    if (statement_ != nullptr) {
        sqlite3_bind_null(statement_.get(), index);
    }
}

bool Query::null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Query::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Query::view(int column) const {
    const auto* data = sqlite3_column_blob(statement_.get(), column);
    const auto size = sqlite3_column_bytes(statement_.get(), column);
    return data == nullptr
               ? std::string_view{}
               : std::string_view{static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

} // namespace durable::sqlite
