// Files on the machine's file system: one system call per method.

#include "base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace durable {

namespace {

// Must be called before anything else can change errno.
std::unexpected<FileError> system_error(std::string_view call, std::string_view path) {
    const int number = errno;
    std::string text{call};
    text += ' ';
    text += path;
    text += ": ";
    text += std::generic_category().message(number);
    return std::unexpected{FileError{std::errc{number}, std::move(text)}};
}

template <class Call>
auto retry_interrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) {
        result = call();
    }
    return result;
}

class Descriptor {
 public:
    explicit Descriptor(int number) : number_{number} {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] int get() const noexcept { return number_; }

 private:
    int number_;
};

// Locks the open file or directory for this process until it is closed.
FileResult<bool> try_flock(const Descriptor& descriptor, std::string_view path) {
    if (retry_interrupted([&] { return ::flock(descriptor.get(), LOCK_EX | LOCK_NB); }) == 0) {
        return true;
    }
    return errno == EWOULDBLOCK ? FileResult<bool>{false} : system_error("lock", path);
}

class SystemFile final : public File {
 public:
    SystemFile(int descriptor, std::string path) : fd_{descriptor}, path_{std::move(path)} {}

    FileResult<std::size_t> read_some_at(std::span<char> into, std::uint64_t offset) override {
        const auto got = retry_interrupted(
            [&] { return ::pread(fd_.get(), into.data(), into.size(), to_offset(offset)); });
        return got < 0 ? FileResult<std::size_t>{system_error("read", path_)}
                       : static_cast<std::size_t>(got);
    }

    FileResult<std::size_t> write_some_at(std::string_view bytes, std::uint64_t offset) override {
        const auto written = retry_interrupted(
            [&] { return ::pwrite(fd_.get(), bytes.data(), bytes.size(), to_offset(offset)); });
        return written < 0 ? FileResult<std::size_t>{system_error("write", path_)}
                           : static_cast<std::size_t>(written);
    }

    // Never repeated, not even after EINTR: see File::sync.
    FileResult<> sync() override { return check(::fdatasync(fd_.get()), "fdatasync"); }

    FileResult<std::uint64_t> size() override {
        struct stat status{};
        if (::fstat(fd_.get(), &status) != 0) {
            return system_error("stat", path_);
        }
        return static_cast<std::uint64_t>(status.st_size);
    }

    FileResult<> truncate(std::uint64_t size) override {
        return check(retry_interrupted([&] { return ::ftruncate(fd_.get(), to_offset(size)); }),
                     "truncate");
    }

    FileResult<> allocate(std::uint64_t size) override {
        // Unlike fallocate, works on every file system: by writing zeros where it must.
        int number = 0;
        do {
            number = ::posix_fallocate(fd_.get(), 0, to_offset(size));
        } while (number == EINTR);
        errno = number;
        return check(number == 0 ? 0 : -1, "allocate");
    }

    FileResult<bool> try_lock() override { return try_flock(fd_, path_); }

 private:
    static off_t to_offset(std::uint64_t offset) { return static_cast<off_t>(offset); }

    FileResult<> check(int result, std::string_view call) const {
        return result == 0 ? FileResult<>{} : system_error(call, path_);
    }

    Descriptor fd_;
    std::string path_;
};

class SystemDirectory final : public Directory {
 public:
    SystemDirectory(int descriptor, std::string path) : fd_{descriptor}, path_{std::move(path)} {}

    FileResult<bool> try_lock() override { return try_flock(fd_, path_); }

    // While it is open, the system reuses its number for nothing else.
    FileResult<bool> still_there() override {
        struct stat held{};
        struct stat named{};
        if (::fstat(fd_.get(), &held) != 0) {
            return system_error("stat", path_);
        }
        if (::stat(path_.c_str(), &named) != 0) {
            return errno == ENOENT || errno == ENOTDIR ? FileResult<bool>{false}
                                                       : system_error("stat", path_);
        }
        return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
    }

 private:
    Descriptor fd_;
    std::string path_;
};

// Never through a link, and never waiting for the other end of a pipe.
constexpr int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Some file systems cannot set permissions: the file keeps those that it has.
bool has_no_permissions(int number) {
    return number == EPERM || number == ENOTSUP || number == ENOSYS;
}

class SystemFiles final : public Files {
 public:
    explicit SystemFiles(StoreAccess access)
        : file_permissions_{access == StoreAccess::group ? 0660U : 0600U},
          directory_permissions_{access == StoreAccess::group ? 0770U : 0700U} {}

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        const auto [descriptor, made] = open_or_make(path, mode);
        if (descriptor < 0) {
            return errno == ELOOP ? refused(std::errc::too_many_symbolic_link_levels,
                                            path,
                                            "is a symbolic link, which is not followed")
                                  : system_error("open", path);
        }
        auto file = std::make_unique<SystemFile>(descriptor, path);
        struct stat status{};
        if (::fstat(descriptor, &status) != 0) {
            return system_error("stat", path);
        }
        if (S_ISDIR(status.st_mode)) {
            return refused(std::errc::is_a_directory, path, "is a directory");
        }
        if (!S_ISREG(status.st_mode)) {
            return refused(std::errc::operation_not_supported, path, "is no regular file");
        }
        if (made && (status.st_mode & all_permissions) != file_permissions_ &&
            ::fchmod(descriptor, file_permissions_) != 0 && !has_no_permissions(errno)) {
            return system_error("set the permissions of", path);
        }
        return file;
    }

    FileResult<> make_directory(const std::string& path) override {
        if (::mkdir(path.c_str(), directory_permissions_) == 0) {
            return set_directory_permissions(path);
        }
        if (errno != EEXIST) {
            return system_error("make directory", path);
        }
        struct stat status{};
        if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
            return {};
        }
        errno = ENOTDIR;
        return system_error("make directory", path);
    }

    FileResult<> rename(const std::string& from, const std::string& to) override {
        return check(::rename(from.c_str(), to.c_str()), "rename", from);
    }
    FileResult<> remove(const std::string& path) override {
        return check(::unlink(path.c_str()), "remove", path);
    }
    FileResult<> remove_directory(const std::string& path) override {
        return check(::rmdir(path.c_str()), "remove directory", path);
    }

    FileResult<std::vector<DirectoryEntry>> list(const std::string& directory) override {
        const std::unique_ptr<DIR, int (*)(DIR*)> stream{::opendir(directory.c_str()), ::closedir};
        if (!stream) {
            return system_error("list", directory);
        }
        std::vector<DirectoryEntry> entries;
        while (true) {
            errno = 0;
            const auto* entry =
                ::readdir(stream.get()); // NOLINT(concurrency-mt-unsafe): own stream
            if (entry == nullptr) {
                if (errno != 0) {
                    return system_error("list", directory);
                }
                break;
            }
            const std::string_view name{&entry->d_name[0]};
            if (name != "." && name != "..") {
                entries.push_back({std::string{name}, is_directory(directory, *entry)});
            }
        }
        std::ranges::sort(entries, {}, &DirectoryEntry::name);
        return entries;
    }

    FileResult<> sync_directory(const std::string& path) override {
        const Descriptor descriptor{open_to_read(path)};
        if (descriptor.get() < 0) {
            return system_error("open directory", path);
        }
        return check(::fsync(descriptor.get()), "fsync directory", path);
    }

    FileResult<std::unique_ptr<Directory>> open_directory(const std::string& path) override {
        const int descriptor = open_to_read(path);
        if (descriptor < 0) {
            return system_error("open directory", path);
        }
        return std::make_unique<SystemDirectory>(descriptor, path);
    }

    FileResult<std::string> absolute(const std::string& path) override {
        if (path.starts_with('/')) {
            return path;
        }
        std::error_code failed;
        const auto here = std::filesystem::current_path(failed);
        if (failed) {
            return std::unexpected{
                FileError{std::errc{failed.value()},
                          "find the working directory for " + path + ": " + failed.message()}};
        }
        return (here / path).string();
    }

    FileResult<std::string> resolve(const std::string& path) override {
        // In "none/../link" the link is only seen once "none/.." is gone, because "none" does not
        // exist. So the path is resolved again until nothing changes. Circles of links are an error
        // of their own.
        auto resolved = absolute(path);
        for (std::string before; resolved && *resolved != before;) {
            before = *std::move(resolved);
            std::error_code failed;
            const auto next = std::filesystem::weakly_canonical(before, failed);
            if (failed) {
                return std::unexpected{FileError{std::errc{failed.value()},
                                                 "resolve " + path + ": " + failed.message()}};
            }
            resolved = next.string();
            while (resolved->size() > 1 && resolved->ends_with('/')) {
                resolved->pop_back();
            }
        }
        return resolved;
    }

    FileResult<FileStatus> status(const std::string& path) override {
        struct stat found{};
        if (::stat(path.c_str(), &found) != 0) {
            return system_error("stat", path);
        }
        return FileStatus{.device = found.st_dev,
                          .number = found.st_ino,
                          .permissions = found.st_mode & all_permissions};
    }

 private:
    static constexpr mode_t all_permissions = 0777;

    struct Opened {
        int descriptor = -1; // errno says why
        bool made = false;
    };
    [[nodiscard]] Opened open_or_make(const std::string& path, OpenMode mode) const {
        const auto try_open = [&](int flags) {
            return retry_interrupted(
                [&] { return ::open(path.c_str(), flags | always, file_permissions_); });
        };
        constexpr int make = O_RDWR | O_CREAT | O_EXCL;
        switch (mode) {
        case OpenMode::read:
            return {.descriptor = try_open(O_RDONLY)};
        case OpenMode::write:
            return {.descriptor = try_open(O_RDWR)};
        case OpenMode::create:
            return {.descriptor = try_open(make), .made = true};
        case OpenMode::write_or_create:
            break;
        }
        // In two steps, because an existing file keeps its permissions. Another process may make or
        // remove it in between.
        while (true) {
            if (const int there = try_open(O_RDWR); there >= 0 || errno != ENOENT) {
                return {.descriptor = there};
            }
            if (const int made = try_open(make); made >= 0 || errno != EEXIST) {
                return {.descriptor = made, .made = true};
            }
        }
    }

    [[nodiscard]] FileResult<> set_directory_permissions(const std::string& path) const {
        struct stat status{};
        if (::stat(path.c_str(), &status) != 0) {
            return system_error("stat", path);
        }
        // Keeps the setgid bit, which makes new entries inherit the directory's group.
        const mode_t wanted = directory_permissions_ | (status.st_mode & S_ISGID);
        if ((status.st_mode & (all_permissions | S_ISGID)) == wanted ||
            ::chmod(path.c_str(), wanted) == 0 || has_no_permissions(errno)) {
            return {};
        }
        return system_error("set the permissions of", path);
    }

    static std::unexpected<FileError>
    refused(std::errc code, const std::string& path, std::string_view why) {
        return std::unexpected{FileError{code, "open " + path + ": it " + std::string{why}}};
    }

    static int open_to_read(const std::string& directory) {
        return retry_interrupted(
            [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    }

    static bool is_directory(const std::string& directory, const dirent& entry) {
        if (entry.d_type != DT_UNKNOWN) {
            return entry.d_type == DT_DIR;
        }
        struct stat status{};
        const std::string path = directory + "/" + &entry.d_name[0];
        return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    }

    static FileResult<> check(int result, std::string_view call, const std::string& path) {
        return result == 0 ? FileResult<>{} : system_error(call, path);
    }

    const mode_t file_permissions_;
    const mode_t directory_permissions_;
};

} // namespace

Files& system_files(StoreAccess access) {
    static SystemFiles of_owner{StoreAccess::owner};
    static SystemFiles of_group{StoreAccess::group};
    return access == StoreAccess::group ? of_group : of_owner;
}

} // namespace durable
