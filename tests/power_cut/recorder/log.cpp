#include "power_cut/recorder/log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

namespace durable::power_cut::recorder {

namespace {

constexpr int first_own_descriptor = 900; // out of the way of the process's own
constexpr std::size_t most_descriptors = 4096;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): wrappers have no object
int trace = -1;
const char* root = nullptr;
std::array<bool, most_descriptors> tracked{};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

iovec piece(std::string_view bytes) {
    return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

__attribute__((constructor)) void begin() {
    const char* file = std::getenv(trace_variable);     // NOLINT(concurrency-mt-unsafe)
    const char* directory = std::getenv(root_variable); // NOLINT(concurrency-mt-unsafe)
    if (file == nullptr || directory == nullptr) {
        return;
    }
    root = ::strdup(directory); // for as long as the process lives
    const int opened = ::open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    const int own = ::fcntl(opened, F_DUPFD_CLOEXEC, first_own_descriptor);
    if (own < 0) {
        give_up("the trace cannot be opened\n");
    }
    ::close(opened);
    trace = own;
}

std::string directory_of(int fd) {
    std::array<char, PATH_MAX> buffer{};
    if (fd == AT_FDCWD) {
        return ::getcwd(buffer.data(), buffer.size()) == nullptr ? "" : buffer.data();
    }
    const auto link = "/proc/self/fd/" + std::to_string(fd);
    const auto size = ::readlink(link.c_str(), buffer.data(), buffer.size());
    return size < 0 ? std::string{} : std::string{buffer.data(), static_cast<std::size_t>(size)};
}

} // namespace

void give_up(std::string_view why) {
    NEXT(write);
    constexpr std::string_view who = "recorder: ";
    (void)!next_write(STDERR_FILENO, who.data(), who.size());
    (void)!next_write(STDERR_FILENO, why.data(), why.size());
    std::abort();
}

Lock::Lock() {
    ::pthread_mutex_lock(&mutex);
    while (::flock(trace, LOCK_EX) != 0 && errno == EINTR) {
    }
}

Lock::~Lock() {
    const int before = errno;
    ::flock(trace, LOCK_UN);
    ::pthread_mutex_unlock(&mutex);
    errno = before;
}

void record(TraceHead head, std::string_view path, std::string_view other, std::string_view bytes) {
    NEXT(writev);
    const int before = errno;
    head.path = static_cast<std::uint32_t>(path.size());
    head.other = static_cast<std::uint32_t>(other.size());
    head.bytes = bytes.size();
    head.process = ::getpid();
    head.thread = ::gettid();
    const std::array<iovec, 4> parts{
        iovec{&head, sizeof head}, piece(path), piece(other), piece(bytes)};
    const auto all = sizeof head + path.size() + other.size() + bytes.size();
    if (next_writev(trace, parts.data(), parts.size()) != static_cast<ssize_t>(all)) {
        give_up("the trace cannot be written\n");
    }
    errno = before;
}

bool is_tracked(int fd) {
    return trace >= 0 && fd >= 0 && static_cast<std::size_t>(fd) < most_descriptors &&
           tracked[static_cast<std::size_t>(fd)];
}

void track(int fd, bool on) {
    if (static_cast<std::size_t>(fd) >= most_descriptors) {
        give_up("too many descriptors\n");
    }
    tracked[static_cast<std::size_t>(fd)] = on;
}

bool is_diary(int fd) {
    return trace >= 0 && fd == STDOUT_FILENO;
}

std::string below_root(int directory, const char* path) {
    if (trace < 0 || path == nullptr) {
        return {};
    }
    const int before = errno;
    const std::string full = *path == '/' ? path : directory_of(directory) + "/" + path;
    errno = before;
    std::string plain;
    for (std::size_t at = 0; at < full.size();) {
        const auto end = std::min(full.find('/', at), full.size());
        const auto part = full.substr(at, end - at);
        if (part == "..") {
            plain.resize(plain.empty() ? 0 : plain.rfind('/'));
        } else if (!part.empty() && part != ".") {
            plain += "/" + part;
        }
        at = end + 1;
    }
    const std::string_view above{root};
    if (plain == above) {
        return "/";
    }
    return plain.starts_with(above) && plain[above.size()] == '/' ? plain.substr(above.size())
                                                                  : std::string{};
}

} // namespace durable::power_cut::recorder
