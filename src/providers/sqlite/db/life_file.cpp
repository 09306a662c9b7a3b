#include "providers/sqlite/db/life_file.hpp"

#include "base/mutex.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace durable::sqlite {

namespace {

// File systems whose locks the kernel of this machine keeps by itself. A network file system may
// lose a lock while its holder lives.
bool keeps_locks(int descriptor) {
    constexpr std::array<std::uint64_t, 9> local{
        EXT4_SUPER_MAGIC,
        XFS_SUPER_MAGIC,
        BTRFS_SUPER_MAGIC,
        F2FS_SUPER_MAGIC,
        TMPFS_MAGIC,
        RAMFS_MAGIC,
        OVERLAYFS_SUPER_MAGIC,
        0x2fc12fc1, // ZFS
        0xca451a4e, // bcachefs
    };
    struct statfs found{};
    return ::fstatfs(descriptor, &found) == 0 &&
           std::ranges::find(local, static_cast<std::uint64_t>(found.f_type) & 0xffffffffU) !=
               local.end();
}

std::optional<FileId> identity(int descriptor) {
    struct stat found{};
    if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
        return std::nullopt;
    }
    return FileId{.device = found.st_dev, .number = found.st_ino};
}

// A new file gets this mode, whatever the umask.
int open_or_make(const std::string& path, mode_t mode) {
    constexpr auto flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const auto made = ::open(path.c_str(), flags | O_CREAT | O_EXCL, mode);
    if (made >= 0) {
        (void)::fchmod(made, mode);
        return made;
    }
    return ::open(path.c_str(), flags);
}

struct flock byte_of(std::int64_t life) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = life;
    lock.l_len = 1;
    return lock;
}

bool is_locked(int descriptor, std::int64_t life) {
    auto lock = byte_of(life);
    return ::fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

} // namespace

LifeFile::LifeFile(std::string path, int descriptor, const FileId& id)
    : path_{std::move(path)}, descriptor_{descriptor}, id_{id} {}

// Never unlocks: a child made by fork would do so for its parent.
LifeFile::~LifeFile() {
    ::close(descriptor_);
}

std::unique_ptr<LifeFile> LifeFile::open(const std::string& store) {
    struct stat of_store{};
    if (::stat(store.c_str(), &of_store) != 0) {
        return nullptr;
    }
    const auto path = store + "-lives";
    const auto descriptor = open_or_make(path, of_store.st_mode & 0666U);
    if (descriptor < 0) {
        return nullptr;
    }
    const auto id = identity(descriptor);
    if (!id || !keeps_locks(descriptor)) {
        ::close(descriptor);
        return nullptr;
    }
    return std::unique_ptr<LifeFile>{new LifeFile{path, descriptor, *id}};
}

bool LifeFile::begin(std::int64_t life) {
    auto lock = byte_of(life);
    if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
        return false;
    }
    const auto other = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (other < 0) {
        return false;
    }
    const auto seen = identity(other) == id_ && is_locked(other, life);
    ::close(other);
    return seen;
}

bool LifeFile::is_over(std::int64_t life) const {
    return !is_locked(descriptor_, life);
}

void LifeFile::keep_until_exit(std::unique_ptr<LifeFile> file) {
    static Mutex mutex;
    static auto& kept = *new std::vector<std::unique_ptr<LifeFile>>; // also after main
    const MutexLock lock{mutex};
    kept.push_back(std::move(file));
}

} // namespace durable::sqlite
