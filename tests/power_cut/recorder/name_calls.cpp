// Descriptors and names: which file is open, and how files are called.

#include "power_cut/recorder/log.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace durable::power_cut::recorder {

namespace {

// `real` makes the call, here and below.
template <class Real>
int open_at(int directory, const char* path, int flags, Real real) {
    const auto place = below_root(directory, path);
    if (place.empty()) {
        return real();
    }
    const Lock lock;
    const int fd = real();
    if (fd >= 0) {
        track(fd, true);
        record({.call = (flags & O_TMPFILE) == O_TMPFILE ? Call::unknown : Call::open,
                .fd = fd,
                .flags = flags},
               place);
    }
    return fd;
}

template <class Real>
int duplicate(int fd, Real real) {
    if (!is_tracked(fd)) {
        return real();
    }
    const Lock lock;
    const int made = real();
    if (made >= 0 && made != fd) {
        track(made, true);
        record({.call = Call::duplicate, .fd = fd, .offset = made});
    }
    return made;
}

template <class Real>
int change_name(Call call, const std::string& path, Real real) {
    if (path.empty()) {
        return real();
    }
    const Lock lock;
    const int result = real();
    if (result == 0) {
        record({.call = call}, path);
    }
    return result;
}

// From elsewhere or to there: what comes or goes is not known.
template <class Real>
int change_names(Call call, const std::string& path, const std::string& other, Real real) {
    if (path.empty() && other.empty()) {
        return real();
    }
    const Lock lock;
    const int result = real();
    if (result == 0) {
        record({.call = path.empty() || other.empty() ? Call::unknown : call}, path, other);
    }
    return result;
}

mode_t mode_argument(int flags, std::va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

} // namespace

} // namespace durable::power_cut::recorder

using namespace durable::power_cut;
using namespace durable::power_cut::recorder;

// Each comes under every name that the C library has for it.
// NOLINTBEGIN(cert-dcl50-cpp,cert-dcl37-c,cert-dcl51-cpp,bugprone-reserved-identifier)
extern "C" {

#define WRAP_OPEN(name)                                                                            \
    int name(const char* path, int flags, ...) {                                                   \
        NEXT(name);                                                                                \
        std::va_list arguments;                                                                    \
        va_start(arguments, flags);                                                                \
        const auto mode = mode_argument(flags, arguments);                                         \
        va_end(arguments);                                                                         \
        return open_at(AT_FDCWD, path, flags, [&] { return next_##name(path, flags, mode); });     \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_OPENAT(name)                                                                          \
    int name(int directory, const char* path, int flags, ...) {                                    \
        NEXT(name);                                                                                \
        std::va_list arguments;                                                                    \
        va_start(arguments, flags);                                                                \
        const auto mode = mode_argument(flags, arguments);                                         \
        va_end(arguments);                                                                         \
        return open_at(                                                                            \
            directory, path, flags, [&] { return next_##name(directory, path, flags, mode); });    \
    }
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

// How a checked build says it.
int __open_2(const char* path, int flags) {
    return open(path, flags);
}
int __open64_2(const char* path, int flags) {
    return open64(path, flags);
}
int __openat_2(int directory, const char* path, int flags) {
    return openat(directory, path, flags);
}
int __openat64_2(int directory, const char* path, int flags) {
    return openat64(directory, path, flags);
}
int creat(const char* path, mode_t mode) {
    return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char* path, mode_t mode) {
    return open64(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int close(int fd) {
    NEXT(close);
    if (!is_tracked(fd)) {
        return next_close(fd);
    }
    const Lock lock;
    track(fd, false);
    record({.call = Call::close, .fd = fd});
    return next_close(fd);
}

int dup(int fd) noexcept {
    NEXT(dup);
    return duplicate(fd, [&] { return next_dup(fd); });
}
int dup2(int fd, int as) noexcept {
    NEXT(dup2);
    return duplicate(fd, [&] { return next_dup2(fd, as); });
}
int dup3(int fd, int as, int flags) noexcept {
    NEXT(dup3);
    return duplicate(fd, [&] { return next_dup3(fd, as, flags); });
}
#define WRAP_FCNTL(name)                                                                           \
    int name(int fd, int command, ...) {                                                           \
        NEXT(name);                                                                                \
        std::va_list arguments;                                                                    \
        va_start(arguments, command);                                                              \
        auto* const argument = va_arg(arguments, void*);                                           \
        va_end(arguments);                                                                         \
        const auto real = [&] { return next_##name(fd, command, argument); };                      \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicate(fd, real) : real();    \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

int rename(const char* from, const char* to) noexcept {
    NEXT(rename);
    return change_names(Call::rename, below_root(AT_FDCWD, from), below_root(AT_FDCWD, to), [&] {
        return next_rename(from, to);
    });
}
int renameat(int from_at, const char* from, int to_at, const char* to) noexcept {
    NEXT(renameat);
    return change_names(Call::rename, below_root(from_at, from), below_root(to_at, to), [&] {
        return next_renameat(from_at, from, to_at, to);
    });
}
int renameat2(
    int from_at, const char* from, int to_at, const char* to, unsigned int flags) noexcept {
    NEXT(renameat2);
    const bool exchange = (flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0;
    return change_names(exchange ? Call::unknown : Call::rename,
                        below_root(from_at, from),
                        below_root(to_at, to),
                        [&] { return next_renameat2(from_at, from, to_at, to, flags); });
}

int link(const char* from, const char* to) noexcept {
    NEXT(link);
    return change_names(Call::link, below_root(AT_FDCWD, from), below_root(AT_FDCWD, to), [&] {
        return next_link(from, to);
    });
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) noexcept {
    NEXT(linkat);
    return change_names(flags == 0 ? Call::link : Call::unknown,
                        below_root(from_at, from),
                        below_root(to_at, to),
                        [&] { return next_linkat(from_at, from, to_at, to, flags); });
}
int symlink(const char* target, const char* path) noexcept {
    NEXT(symlink);
    return change_name(
        Call::unknown, below_root(AT_FDCWD, path), [&] { return next_symlink(target, path); });
}

int unlink(const char* path) noexcept {
    NEXT(unlink);
    return change_name(Call::unlink, below_root(AT_FDCWD, path), [&] { return next_unlink(path); });
}
int unlinkat(int directory, const char* path, int flags) noexcept {
    NEXT(unlinkat);
    return change_name((flags & AT_REMOVEDIR) != 0 ? Call::remove_directory : Call::unlink,
                       below_root(directory, path),
                       [&] { return next_unlinkat(directory, path, flags); });
}
int rmdir(const char* path) noexcept {
    NEXT(rmdir);
    return change_name(
        Call::remove_directory, below_root(AT_FDCWD, path), [&] { return next_rmdir(path); });
}
int remove(const char* path) noexcept {
    return unlink(path) == 0 ? 0 : (errno == EISDIR ? rmdir(path) : -1);
}

int mkdir(const char* path, mode_t mode) noexcept {
    NEXT(mkdir);
    return change_name(
        Call::make_directory, below_root(AT_FDCWD, path), [&] { return next_mkdir(path, mode); });
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
    NEXT(mkdirat);
    return change_name(Call::make_directory, below_root(directory, path), [&] {
        return next_mkdirat(directory, path, mode);
    });
}

} // extern "C"
// NOLINTEND(cert-dcl50-cpp,cert-dcl37-c,cert-dcl51-cpp,bugprone-reserved-identifier)
