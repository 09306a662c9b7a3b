#include "providers/sqlite/db/sqlite_error.hpp"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <sqlite3.h>

namespace durable::sqlite {

namespace {

bool is_no_room(int system) {
    return system == ENOSPC || system == EDQUOT || system == EFBIG;
}

struct Meaning {
    ErrorCode code;
    std::string_view text;
};

// Whether a write or a new file found the disk full. SQLite has a code for only one such case. A
// sync that fails this way does not count: the data it should have kept may be lost.
bool without_room(int code, int system) {
    switch (code) {
    case SQLITE_IOERR_SHMSIZE: // only a full disk causes it
        return true;
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMMAP:
        return is_no_room(system);
    default:
        return (code & 0xff) == SQLITE_CANTOPEN && is_no_room(system);
    }
}

// A resource that the system lacks now and may have later; the file itself is not in doubt.
std::optional<Meaning> shortage(int code, int system) {
    const auto primary = code & 0xff;
    if ((primary != SQLITE_CANTOPEN && primary != SQLITE_IOERR) || code == SQLITE_IOERR_FSYNC ||
        code == SQLITE_IOERR_DIR_FSYNC) {
        return std::nullopt;
    }
    switch (system) {
    case EMFILE:
        return Meaning{ErrorCode::unavailable, "the process has too many files open (ulimit -n)"};
    case ENFILE:
        return Meaning{ErrorCode::unavailable, "the machine has too many files open"};
    case ENOMEM:
        return Meaning{ErrorCode::unavailable, "out of memory"};
    default:
        return std::nullopt;
    }
}

} // namespace

bool is_full(int code, int system) {
    return (code & 0xff) == SQLITE_FULL || without_room(code, system);
}

namespace {

// By extended code where it matters, else by the primary one.
Meaning meaning_of(int code) {
    switch (code) {
    case SQLITE_READONLY_DBMOVED:
        return {ErrorCode::storage_failed, "the file was deleted or replaced while it was open"};
    case SQLITE_IOERR_NOMEM:
        return {ErrorCode::unavailable, "out of memory"};
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
        return {ErrorCode::storage_failed, "the disk did not keep what was written"};
    default:
        break;
    }
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {ErrorCode::unavailable, "another process holds the file"};
    case SQLITE_FULL:
        return {ErrorCode::unavailable, "the disk is full"};
    case SQLITE_NOMEM:
        return {ErrorCode::unavailable, "out of memory"};
    case SQLITE_TOOBIG:
        return {ErrorCode::invalid_argument, "a text is too large for the store"};
    case SQLITE_READONLY:
        return {ErrorCode::storage_failed, "the file cannot be written"};
    case SQLITE_CANTOPEN:
        return {ErrorCode::storage_failed, "the file cannot be opened"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return {ErrorCode::storage_failed, "access is denied"};
    case SQLITE_CORRUPT:
        return {ErrorCode::corrupt, "the file is damaged"};
    case SQLITE_NOTADB:
        return {ErrorCode::corrupt, "the file is no SQLite database, or its beginning is damaged"};
    case SQLITE_IOERR:
        return {ErrorCode::storage_failed, "the disk failed"};
    default:
        return {ErrorCode::storage_failed, "SQLite failed"};
    }
}

} // namespace

Error to_error(int code, std::string_view message, const std::string& path, int system) {
    // SQLite has no code for a header that it does not understand, only this message.
    if (message == "unsupported file format") {
        code = SQLITE_NOTADB;
    }
    auto meaning =
        shortage(code, system).value_or(meaning_of(is_full(code, system) ? SQLITE_FULL : code));
    if (system == EFBIG && meaning.code == ErrorCode::unavailable) {
        meaning.text = "the process may not make files so long (ulimit -f)";
    }
    std::string said{message};
    const auto primary = code & 0xff;
    const auto of_the_system =
        primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL;
    if (of_the_system && system != 0) {
        said += ": " + std::generic_category().message(system);
    }
    return {.code = meaning.code,
            .message = path + ": " + std::string{meaning.text} + " (" + said + ", SQLite code " +
                       std::to_string(code) + ")"};
}

Error file_is_gone(const std::string& path) {
    return {.code = ErrorCode::storage_failed,
            .message =
                path +
                ": the file, or the -wal file beside it, was deleted or replaced while it was "
                "open"};
}

} // namespace durable::sqlite
