// Files: every call to the file system that storage makes, so that a simulated disk can stand in.
//
// The calls are as weak as the real ones, on purpose: a write may be short, is not durable before
// sync(), and a new name is not durable before sync_directory(). The helpers at the end add the
// usual loops. Paths are plain strings with '/' between the parts.

#pragma once

#include <durable/store_access.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace durable {

struct FileError {
    std::errc code{};
    std::string text; // "write journal/0001.log: No space left on device"

    // No space, quota or file handles left: waiting or cleaning up may help.
    [[nodiscard]] bool out_of_resources() const noexcept;
};

template <class T = void>
using FileResult = std::expected<T, FileError>;

enum class OpenMode : std::uint8_t {
    read,   // must exist
    write,  // must exist
    create, // must not exist
    write_or_create,
};

// An open file; closed by its destructor. Reads and writes may come from several threads.
class File {
 public:
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    virtual ~File() = default;

    // How many bytes were transferred: fewer than asked is not an error. A read of 0 is the end.
    [[nodiscard]] virtual FileResult<std::size_t> read_some_at(std::span<char> into,
                                                               std::uint64_t offset) = 0;
    [[nodiscard]] virtual FileResult<std::size_t> write_some_at(std::string_view bytes,
                                                                std::uint64_t offset) = 0;
    // Everything written before the call is durable after it. After a failure it is unknown what is
    // durable, and a later success proves nothing: the system may have dropped unwritten pages.
    [[nodiscard]] virtual FileResult<> sync() = 0;
    [[nodiscard]] virtual FileResult<std::uint64_t> size() = 0;
    [[nodiscard]] virtual FileResult<> truncate(std::uint64_t size) = 0;
    // Reserves the blocks of the first `size` bytes now, zero-filled, so that writing there cannot
    // run out of space.
    [[nodiscard]] virtual FileResult<> allocate(std::uint64_t size) = 0;
    // Locks the file for this process until it is closed; false: another process has the lock.
    [[nodiscard]] virtual FileResult<bool> try_lock() = 0;
};

// What a path leads to.
struct FileStatus {
    std::uint64_t device = 0; // device and number together identify a file, by any path
    std::uint64_t number = 0;
    std::uint32_t permissions = 0; // as chmod writes them: 0750

    [[nodiscard]] bool same_as(const FileStatus& other) const noexcept {
        return device == other.device && number == other.number;
    }
};

struct DirectoryEntry {
    std::string name;
    bool is_directory = false;
    bool operator==(const DirectoryEntry&) const = default;
};

// A directory that is held open: it stays the same directory when its path is renamed or removed.
class Directory {
 public:
    Directory() = default;
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    virtual ~Directory() = default;

    // As File::try_lock. Some network file systems have no locks for directories: an error then.
    [[nodiscard]] virtual FileResult<bool> try_lock() = 0;
    // Whether the path that it was opened with still leads to it.
    [[nodiscard]] virtual FileResult<bool> still_there() = 0;
};

class Files {
 public:
    Files() = default;
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    virtual ~Files() = default;

    // Regular files only. A path that ends in a symbolic link is refused, not followed: the file
    // behind it is not the caller's to write.
    [[nodiscard]] virtual FileResult<std::unique_ptr<File>> open(const std::string& path,
                                                                 OpenMode mode) = 0;
    [[nodiscard]] virtual FileResult<> make_directory(const std::string& path) = 0; // may exist
    [[nodiscard]] virtual FileResult<> rename(const std::string& from, const std::string& to) = 0;
    [[nodiscard]] virtual FileResult<> remove(const std::string& path) = 0; // a file
    [[nodiscard]] virtual FileResult<>
    remove_directory(const std::string& path) = 0; // an empty one
    // Sorted by name, without "." and "..".
    [[nodiscard]] virtual FileResult<std::vector<DirectoryEntry>>
    list(const std::string& directory) = 0;
    [[nodiscard]] virtual FileResult<> sync_directory(const std::string& path) = 0;
    [[nodiscard]] virtual FileResult<std::unique_ptr<Directory>>
    open_directory(const std::string& path) = 0;
    // The same path for a process that works in another directory: begins with '/'.
    [[nodiscard]] virtual FileResult<std::string> absolute(const std::string& path) = 0;
    // The same path without symbolic links, "." and "..". Its last parts need not exist.
    [[nodiscard]] virtual FileResult<std::string> resolve(const std::string& path) = 0;
    // Of what the path leads to, through links.
    [[nodiscard]] virtual FileResult<FileStatus> status(const std::string& path) = 0;
};

// The machine's files; the object lives as long as the program. New files and directories get the
// permissions of that access.
[[nodiscard]] Files& system_files(StoreAccess access = StoreAccess::owner);

// ---- The usual loops

// Everything or an error.
[[nodiscard]] FileResult<> write_at(File& file, std::string_view bytes, std::uint64_t offset);
// As much as there is: shorter than asked only at the end of the file.
[[nodiscard]] FileResult<std::size_t>
read_at(File& file, std::span<char> into, std::uint64_t offset);
[[nodiscard]] FileResult<std::string> read_file(Files& files, const std::string& path);
// All or nothing, durable on return: a temporary file beside it, synced and renamed.
[[nodiscard]] FileResult<>
replace_file(Files& files, const std::string& path, std::string_view content);
// Removes a large file in steps. Freeing hundreds of megabytes at once delays every sync of the
// file system by a tenth of a second and more.
[[nodiscard]] FileResult<> remove_gradually(Files& files, const std::string& path);
// A directory that exists durably, with its parents.
[[nodiscard]] FileResult<> make_directories(Files& files, const std::string& path);
// Removes a directory and everything in it; of a link the link itself, never its target. A path
// that does not exist is no error.
[[nodiscard]] FileResult<> remove_tree(Files& files, const std::string& path);

// Whether the path is this directory or lies inside it, by whatever names: compares devices and
// numbers along the ancestors that exist. The directory must exist, the path need not.
[[nodiscard]] FileResult<bool>
lies_within(Files& files, const std::string& path, const std::string& directory);

[[nodiscard]] std::string_view
parent_path(std::string_view path) noexcept; // "." when there is none

} // namespace durable
