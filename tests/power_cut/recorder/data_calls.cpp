// What is written into files, how long they are, and when it is on the disk.

#include "power_cut/recorder/log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace durable::power_cut::recorder {

namespace {

// As on a disk: the other threads go on meanwhile.
constexpr int sync_milliseconds = 1;

bool all_zero(std::string_view bytes) {
    return !bytes.empty() && bytes.front() == '\0' &&
           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

void record_write(int fd, off_t offset, std::string_view bytes) {
    const bool zeros = all_zero(bytes);
    record({.call = zeros ? Call::zeros : Call::write,
            .fd = fd,
            .offset = offset,
            .size = static_cast<std::int64_t>(bytes.size())},
           {},
           {},
           zeros ? std::string_view{} : bytes);
}

// `real` makes the call, here and below. `place`: where the bytes go; nullptr: where the descriptor
// stands, which is behind them afterwards.
template <class Real>
ssize_t write_pieces(int fd, const iovec* pieces, int count, const off_t* place, Real real) {
    if (!is_tracked(fd) && !is_diary(fd)) {
        return real();
    }
    const Lock lock;
    const auto written = real();
    if (written <= 0) {
        return written;
    }
    auto left = static_cast<std::size_t>(written);
    off_t at = 0;
    if (!is_diary(fd)) {
        at = place != nullptr ? *place : ::lseek(fd, 0, SEEK_CUR) - written;
    }
    for (int piece = 0; piece < count && left > 0; ++piece) {
        const std::string_view bytes{static_cast<const char*>(pieces[piece].iov_base),
                                     std::min(left, pieces[piece].iov_len)};
        if (is_diary(fd)) {
            record({.call = Call::note}, {}, {}, bytes);
        } else {
            record_write(fd, at, bytes);
        }
        at += static_cast<off_t>(bytes.size());
        left -= bytes.size();
    }
    return written;
}

template <class Real>
int resize_file(int fd, off_t size, Real real) {
    if (!is_tracked(fd)) {
        return real(fd, size);
    }
    const Lock lock;
    const int result = real(fd, size);
    if (result == 0) {
        record({.call = Call::resize, .fd = fd, .size = size});
    }
    return result;
}

template <class Real>
int allocate(int fd, int mode, off_t offset, off_t size, Real real) {
    if (!is_tracked(fd)) {
        return real();
    }
    const Lock lock;
    const int result = real();
    if (result == 0 && mode != FALLOC_FL_KEEP_SIZE) {
        record({.call = mode == 0 ? Call::allocate : Call::unknown,
                .fd = fd,
                .offset = offset,
                .size = size},
               mode == 0 ? "" : "fallocate");
    }
    return result;
}

template <class Real>
int sync_file(int fd, Real real) {
    if (!is_tracked(fd)) {
        return real(fd);
    }
    {
        const Lock lock;
        record({.call = Call::sync_begin, .fd = fd});
    }
    ::poll(nullptr, 0, sync_milliseconds);
    const int result = real(fd);
    if (result == 0) {
        const Lock lock;
        record({.call = Call::sync_end, .fd = fd});
    }
    return result;
}

template <class Real>
void* map_file(int fd, int protection, int flags, Real real) {
    void* const made = real();
    if (made != MAP_FAILED && is_tracked(fd) && (protection & PROT_WRITE) != 0 &&
        (flags & MAP_SHARED) != 0) {
        const Lock lock;
        record({.call = Call::map, .fd = fd});
    }
    return made;
}

} // namespace

} // namespace durable::power_cut::recorder

using namespace durable::power_cut::recorder;

// Each comes under every name that the C library has for it.
extern "C" {

ssize_t write(int fd, const void* bytes, size_t size) {
    NEXT(write);
    const iovec piece{.iov_base = const_cast<void*>(bytes), .iov_len = size};
    return write_pieces(fd, &piece, 1, nullptr, [&] { return next_write(fd, bytes, size); });
}
ssize_t writev(int fd, const iovec* pieces, int count) {
    NEXT(writev);
    return write_pieces(fd, pieces, count, nullptr, [&] { return next_writev(fd, pieces, count); });
}
#define WRAP_PWRITE(name)                                                                          \
    ssize_t name(int fd, const void* bytes, size_t size, off64_t offset) {                         \
        NEXT(name);                                                                                \
        const iovec piece{.iov_base = const_cast<void*>(bytes), .iov_len = size};                  \
        return write_pieces(                                                                       \
            fd, &piece, 1, &offset, [&] { return next_##name(fd, bytes, size, offset); });         \
    }
WRAP_PWRITE(pwrite)
WRAP_PWRITE(pwrite64)
#define WRAP_PWRITEV(name)                                                                         \
    ssize_t name(int fd, const iovec* pieces, int count, off64_t offset) {                         \
        NEXT(name);                                                                                \
        return write_pieces(                                                                       \
            fd, pieces, count, &offset, [&] { return next_##name(fd, pieces, count, offset); });   \
    }
WRAP_PWRITEV(pwritev)
WRAP_PWRITEV(pwritev64)

int ftruncate(int fd, off_t size) noexcept {
    NEXT(ftruncate);
    return resize_file(fd, size, next_ftruncate);
}
int ftruncate64(int fd, off64_t size) noexcept {
    NEXT(ftruncate64);
    return resize_file(fd, size, next_ftruncate64);
}
#define WRAP_FALLOCATE(name)                                                                       \
    int name(int fd, int mode, off64_t offset, off64_t size) {                                     \
        NEXT(name);                                                                                \
        return allocate(                                                                           \
            fd, mode, offset, size, [&] { return next_##name(fd, mode, offset, size); });          \
    }
WRAP_FALLOCATE(fallocate)
WRAP_FALLOCATE(fallocate64)
#define WRAP_POSIX_FALLOCATE(name)                                                                 \
    int name(int fd, off64_t offset, off64_t size) {                                               \
        NEXT(name);                                                                                \
        return allocate(fd, 0, offset, size, [&] { return next_##name(fd, offset, size); });       \
    }
WRAP_POSIX_FALLOCATE(posix_fallocate)
WRAP_POSIX_FALLOCATE(posix_fallocate64)

int fsync(int fd) {
    NEXT(fsync);
    return sync_file(fd, next_fsync);
}
int fdatasync(int fd) {
    NEXT(fdatasync);
    return sync_file(fd, next_fdatasync);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    NEXT(mmap);
    return map_file(
        fd, protection, flags, [&] { return next_mmap(at, size, protection, flags, fd, offset); });
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept {
    NEXT(mmap64);
    return map_file(fd, protection, flags, [&] {
        return next_mmap64(at, size, protection, flags, fd, offset);
    });
}

} // extern "C"
