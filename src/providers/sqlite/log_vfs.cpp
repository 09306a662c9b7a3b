#include "providers/sqlite/log_vfs.hpp"

#include "providers/sqlite/sqlite_error.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

namespace durable::sqlite {

namespace {

constexpr int header_of_frame = 24;
constexpr std::size_t most_kept = std::size_t{1} << 20U;
constexpr std::size_t piece = std::size_t{1} << 16U; // SQLite writes less than twice that at once

// An open log. The file of the VFS behind it follows in memory.
struct LogFile {
    sqlite3_file base{};
    sqlite3_file* real = nullptr;
    std::string kept;
    sqlite3_int64 kept_at = 0; // where it belongs
    bool commits = false;      // the last header that is kept belongs to the end of a commit
    int* write_errno = nullptr;

    int write_through(std::string_view data, sqlite3_int64 at) const {
        const auto code =
            real->pMethods->xWrite(real, data.data(), static_cast<int>(data.size()), at);
        *write_errno = code == SQLITE_OK ? 0 : errno;
        // SQLite knows a full disk, but neither a quota nor a limit of the process.
        return code == SQLITE_IOERR_WRITE && is_no_room(errno) ? SQLITE_FULL : code;
    }

    [[nodiscard]] sqlite3_int64 end() const noexcept {
        return kept_at + static_cast<sqlite3_int64>(kept.size());
    }

    int flush() {
        int code = SQLITE_OK;
        const std::string_view all{kept};
        for (std::size_t done = 0; code == SQLITE_OK && done < all.size(); done += piece) {
            code =
                write_through(all.substr(done, piece), kept_at + static_cast<sqlite3_int64>(done));
        }
        kept.clear();
        commits = false;
        return code;
    }

    int write(std::string_view data, sqlite3_int64 at) {
        const auto continues = !kept.empty() && at == end();
        const auto begins = data.size() == header_of_frame;
        if (!continues || kept.size() > most_kept) {
            if (const auto code = flush(); code != SQLITE_OK) {
                return code;
            }
            if (!begins) {
                return write_through(data, at);
            }
            kept_at = at;
        }
        kept += data;
        if (begins) { // the size of the database after the commit, 0 in all frames but the last
            commits = data.substr(4, 4) != std::string_view{"\0\0\0\0", 4};
            return SQLITE_OK;
        }
        return commits ? flush() : SQLITE_OK;
    }
};

LogFile& mine(sqlite3_file* file) {
    return *reinterpret_cast<LogFile*>(file);
}

// The file behind, with everything that was written so far.
template <class Call>
int pass(sqlite3_file* file, Call&& call) {
    auto& log = mine(file);
    const auto code = log.flush();
    return code == SQLITE_OK ? call(log.real->pMethods, log.real) : code;
}

int close(sqlite3_file* file) {
    auto& log = mine(file);
    // What is still kept is of no commit.
    const auto code = log.real->pMethods->xClose(log.real);
    std::destroy_at(&log);
    return code;
}

constexpr sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close,
    .xRead =
        [](sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
            return pass(file, [&](const sqlite3_io_methods* of, sqlite3_file* real) {
                return of->xRead(real, into, size, at);
            });
        },
    .xWrite =
        [](sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
            try {
                return mine(file).write(
                    {static_cast<const char*>(data), static_cast<std::size_t>(size)}, at);
            } catch (const std::bad_alloc&) {
                return SQLITE_IOERR_NOMEM;
            }
        },
    .xTruncate =
        [](sqlite3_file* file, sqlite3_int64 size) {
            return pass(file, [&](const sqlite3_io_methods* of, sqlite3_file* real) {
                return of->xTruncate(real, size);
            });
        },
    .xSync =
        [](sqlite3_file* file, int flags) {
            return pass(file, [&](const sqlite3_io_methods* of, sqlite3_file* real) {
                return of->xSync(real, flags);
            });
        },
    .xFileSize =
        [](sqlite3_file* file, sqlite3_int64* size) {
            return pass(file, [&](const sqlite3_io_methods* of, sqlite3_file* real) {
                return of->xFileSize(real, size);
            });
        },
    .xLock = [](sqlite3_file* file,
                int level) { return mine(file).real->pMethods->xLock(mine(file).real, level); },
    .xUnlock = [](sqlite3_file* file,
                  int level) { return mine(file).real->pMethods->xUnlock(mine(file).real, level); },
    .xCheckReservedLock =
        [](sqlite3_file* file, int* locked) {
            return mine(file).real->pMethods->xCheckReservedLock(mine(file).real, locked);
        },
    .xFileControl =
        [](sqlite3_file* file, int what, void* with) {
            return mine(file).real->pMethods->xFileControl(mine(file).real, what, with);
        },
    .xSectorSize =
        [](sqlite3_file* file) { return mine(file).real->pMethods->xSectorSize(mine(file).real); },
    .xDeviceCharacteristics =
        [](sqlite3_file* file) {
            return mine(file).real->pMethods->xDeviceCharacteristics(mine(file).real);
        },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

std::string new_name() {
    static constinit std::atomic<std::uint64_t> last{0};
    return "durable-log-" + std::to_string(++last);
}

} // namespace

LogVfs::LogVfs(const std::string& base) : name_{new_name()} {
    shim_.base = sqlite3_vfs_find(base.empty() ? nullptr : base.c_str());
    if (shim_.base == nullptr) {
        name_ = base; // SQLite will say that it does not know it
        return;
    }
    shim_.vfs = *shim_.base; // with what its functions expect of it
    shim_.vfs.pNext = nullptr;
    shim_.vfs.zName = name_.c_str();
    shim_.vfs.szOsFile += static_cast<int>(sizeof(LogFile));
    shim_.vfs.xOpen = &LogVfs::open;
    sqlite3_vfs_register(&shim_.vfs, 0);
}

LogVfs::~LogVfs() {
    if (shim_.base != nullptr) {
        sqlite3_vfs_unregister(&shim_.vfs);
    }
}

int LogVfs::open(
    sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* shim = reinterpret_cast<Shim*>(vfs);
    auto* base = shim->base;
    if ((flags & SQLITE_OPEN_WAL) == 0) {
        return base->xOpen(base, name, file, flags, out_flags);
    }
    // SQLite gives its files memory that is aligned to eight bytes.
    static_assert(sizeof(LogFile) % 8 == 0 && alignof(LogFile) <= 8);
    auto* log = new (file) LogFile;
    log->real = reinterpret_cast<sqlite3_file*>(log + 1);
    log->real->pMethods = nullptr;
    log->write_errno = &shim->write_errno;
    const auto code = base->xOpen(base, name, log->real, flags, out_flags);
    if (log->real->pMethods == nullptr) { // then SQLite will not close it
        std::destroy_at(log);
        file->pMethods = nullptr;
        return code;
    }
    file->pMethods = &methods;
    return code;
}

} // namespace durable::sqlite
