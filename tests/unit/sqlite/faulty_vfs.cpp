#include "unit/sqlite/faulty_vfs.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace durable::sqlite {

namespace {

// SQLite allocates this, and behind it what the real file needs.
struct FaultyFile {
    sqlite3_file base;
    FaultyVfs* vfs;
    sqlite3_file* real;
    const char* path; // nullptr: a temporary file
    int last_errno;   // of a write that was made to fail
};

FaultyFile& mine(sqlite3_file* file) {
    return *reinterpret_cast<FaultyFile*>(file); // NOLINT: SQLite's way of deriving
}

sqlite3_file* real(sqlite3_file* file) {
    return mine(file).real;
}

const sqlite3_io_methods& of(sqlite3_file* file) {
    return *real(file)->pMethods;
}

int read(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
    const auto code = mine(file).vfs->next_call(SQLITE_IOERR_READ, false);
    return code != SQLITE_OK ? code : of(file).xRead(real(file), into, size, at);
}

int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
    const auto code = mine(file).vfs->next_call(SQLITE_IOERR_WRITE, true);
    if (code == SQLITE_IOERR_WRITE) {
        mine(file).last_errno = errno;
    }
    return code != SQLITE_OK ? code : of(file).xWrite(real(file), from, size, at);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
    const auto code = mine(file).vfs->next_call(SQLITE_IOERR_TRUNCATE, true);
    return code != SQLITE_OK ? code : of(file).xTruncate(real(file), size);
}

// Not a real sync: the machine goes on, and the test would wait for its disk.
int sync(sqlite3_file* file, int) {
    mine(file).vfs->begin_sync(); // first: one that is held may still fail
    const auto code = mine(file).vfs->next_call(SQLITE_IOERR_FSYNC, false);
    if (code == SQLITE_OK && mine(file).path != nullptr) {
        mine(file).vfs->remember(mine(file).path, real(file));
    }
    return code;
}

int close(sqlite3_file* file) {
    return of(file).xClose(real(file));
}

// What only passes.
constexpr sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = [](sqlite3_file* file,
                    sqlite3_int64* size) { return of(file).xFileSize(real(file), size); },
    .xLock = [](sqlite3_file* file, int level) { return of(file).xLock(real(file), level); },
    .xUnlock = [](sqlite3_file* file, int level) { return of(file).xUnlock(real(file), level); },
    .xCheckReservedLock = [](sqlite3_file* file,
                             int* taken) { return of(file).xCheckReservedLock(real(file), taken); },
    .xFileControl =
        [](sqlite3_file* file, int what, void* value) {
            if (what == SQLITE_FCNTL_LAST_ERRNO && mine(file).last_errno != 0) {
                *static_cast<int*>(value) = mine(file).last_errno;
                return SQLITE_OK;
            }
            return of(file).xFileControl(real(file), what, value);
        },
    .xSectorSize = [](sqlite3_file* file) { return of(file).xSectorSize(real(file)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* file) { return of(file).xDeviceCharacteristics(real(file)); },
    .xShmMap =
        [](sqlite3_file* file, int page, int size, int extend, void volatile** at) {
            if (mine(file).vfs->no_room_for_memory()) {
                return SQLITE_IOERR_SHMSIZE;
            }
            return of(file).xShmMap(real(file), page, size, extend, at);
        },
    .xShmLock =
        [](sqlite3_file* file, int first, int count, int flags) {
            return of(file).xShmLock(real(file), first, count, flags);
        },
    .xShmBarrier = [](sqlite3_file* file) { of(file).xShmBarrier(real(file)); },
    .xShmUnmap = [](sqlite3_file* file,
                    int remove) { return of(file).xShmUnmap(real(file), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

std::atomic<int> made = 0;

} // namespace

FaultyVfs::FaultyVfs()
    : real_{sqlite3_vfs_find(nullptr)}, name_{"faulty-" + std::to_string(++made)} {
    vfs_ = *real_;
    vfs_.pNext = nullptr;
    vfs_.zName = name_.c_str();
    vfs_.szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_->szOsFile;
    vfs_.pAppData = this; // the real one keeps its own there: it is called with its own vfs
    vfs_.xOpen = &open;
    vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_directory) {
        auto* self = static_cast<FaultyVfs*>(vfs->pAppData);
        if (self->crashed_) {
            return SQLITE_IOERR_DELETE;
        }
        const std::scoped_lock lock{self->mutex_};
        self->synced_.erase(path);
        return self->real_->xDelete(self->real_, path, sync_directory);
    };
    vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int flags, int* result) {
        auto* self = static_cast<FaultyVfs*>(vfs->pAppData);
        return self->real_->xAccess(self->real_, path, flags, result);
    };
    vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* path, int size, char* full) {
        auto* self = static_cast<FaultyVfs*>(vfs->pAppData);
        return self->real_->xFullPathname(self->real_, path, size, full);
    };
    sqlite3_vfs_register(&vfs_, 0);
}

FaultyVfs::~FaultyVfs() {
    sqlite3_vfs_unregister(&vfs_);
}

void FaultyVfs::set_fault(std::uint64_t call, Fault fault) {
    calls_ = 0;
    fault_ = fault;
    fault_at_ = call;
    crashed_ = false;
}

bool FaultyVfs::hold_syncs(bool hold) {
    const std::scoped_lock lock{mutex_};
    held_ = hold;
    released_.notify_all();
    return !std::exchange(waited_too_long_, false);
}

void FaultyVfs::begin_sync() {
    constexpr std::chrono::seconds very_long{5};
    std::unique_lock lock{mutex_};
    ++waiting_;
    if (!released_.wait_for(lock, very_long, [&] { return !held_; })) {
        waited_too_long_ = true;
    }
    --waiting_;
}

int FaultyVfs::held_syncs() {
    const std::scoped_lock lock{mutex_};
    return waiting_;
}

void FaultyVfs::remember(const std::string& path, sqlite3_file* file) {
    ++syncs_;
    const std::scoped_lock lock{mutex_};
    sqlite3_int64 size = 0;
    file->pMethods->xFileSize(file, &size);
    auto& content = synced_[path];
    content.resize(static_cast<std::size_t>(size));
    file->pMethods->xRead(file, content.data(), static_cast<int>(size), 0);
}

void FaultyVfs::cut_power() {
    const std::scoped_lock lock{mutex_};
    for (const auto& [path, content] : synced_) {
        std::ofstream{path, std::ios::binary | std::ios::trunc} << content;
        std::filesystem::remove(path + "-shm"); // is memory
    }
    synced_.clear();
}

int FaultyVfs::next_call(int error, bool writes) {
    const auto call = ++calls_;
    if (crashed_) {
        errno = EIO;
        return error;
    }
    if (call != fault_at_) {
        return SQLITE_OK;
    }
    switch (fault_) {
    case Fault::fails:
        errno = EIO;
        return error;
    case Fault::disk_full:
        return writes ? SQLITE_FULL : SQLITE_OK;
    case Fault::quota:
        errno = EDQUOT;
        return writes ? error : SQLITE_OK;
    case Fault::crash:
        crashed_ = true;
        errno = EIO;
        return error;
    }
    return SQLITE_OK;
}

int FaultyVfs::open(
    sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* self = static_cast<FaultyVfs*>(vfs->pAppData);
    auto& opened = mine(file);
    opened.vfs = self;
    opened.path = name;
    opened.last_errno = 0;
    // NOLINTNEXTLINE: the place behind ours that szOsFile has made room for
    opened.real = reinterpret_cast<sqlite3_file*>(&opened + 1);
    if (self->read_only_ && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    }
    const auto code = self->real_->xOpen(self->real_, name, opened.real, flags, out_flags);
    if (code == SQLITE_OK && name != nullptr) {
        const std::scoped_lock lock{self->mutex_};
        self->synced_.try_emplace(name); // nothing of it, so far
    }
    opened.base.pMethods = opened.real->pMethods != nullptr ? &methods : nullptr;
    return code;
}

} // namespace durable::sqlite
