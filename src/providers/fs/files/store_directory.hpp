// StoreDirectory: a store's directory, locked for this process. Its parts:
//
//   runtime.lock   held by flock while a process has the store open, as is the directory itself;
//                  says which process
//   FORMAT         {"format":2,"gapless":true}: what this version understands
//   journal/       every change, in order
//   checkpoint/    the live state at some point of the journal
//   packs/         finished instances, many to a file
//   instances/     readable copies of live instances: never read back, may be deleted at any time
//   quarantine/    the list of what a repair could not save

#pragma once

#include "base/files.hpp"
#include "providers/fs/files/store_files.hpp"

#include <durable/result.hpp>
#include <durable/store_access.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace durable::fs {

inline constexpr std::uint64_t format_version = 2;

// Where the parts of a store are.
struct StoreLayout {
    std::string path;

    [[nodiscard]] std::string lock() const { return path + "/runtime.lock"; }
    [[nodiscard]] std::string format() const { return path + "/FORMAT"; }
    [[nodiscard]] std::string journal() const { return path + "/journal"; }
    [[nodiscard]] std::string checkpoint() const { return path + "/checkpoint"; }
    [[nodiscard]] std::string packs() const { return path + "/packs"; }
    [[nodiscard]] std::string instances() const { return path + "/instances"; }
    [[nodiscard]] std::string quarantine() const { return path + "/quarantine"; }
};

// Keeps other processes out of a store. Two locks: the one on the directory holds when runtime.lock
// is removed, the other where the file system has no locks for directories. The system releases
// both when the process dies.
struct StoreLock {
    std::unique_ptr<Directory> directory; // nullptr: there is none
    std::unique_ptr<File> file;           // nullptr: there is none, the store was never opened
};

class StoreDirectory {
 public:
    // Makes missing parts and takes the locks; see fs.hpp for the errors. A refused directory is
    // left unchanged.
    [[nodiscard]] static Result<StoreDirectory> open(Files& files, const std::string& path);

    // Absolute: the process may work in another directory later.
    [[nodiscard]] const std::string& path() const noexcept { return layout_.path; }
    [[nodiscard]] std::string journal() const { return layout_.journal(); }
    [[nodiscard]] std::string checkpoint() const { return layout_.checkpoint(); }
    [[nodiscard]] std::string packs() const { return layout_.packs(); }
    [[nodiscard]] std::string instances() const { return layout_.instances(); }
    [[nodiscard]] std::string quarantine() const { return layout_.quarantine(); }
    // For all files of the store.
    [[nodiscard]] StoreFiles& files() const noexcept { return *files_; }

    // No number is left out between segments of the journal. Older stores do not promise it.
    [[nodiscard]] bool gapless() const noexcept { return gapless_; }

 private:
    StoreDirectory(Files& files, const std::string& path, StoreLock lock)
        : layout_{path},
          files_{std::make_unique<StoreFiles>(files, std::move(lock.directory), path)},
          lock_{std::move(lock.file)} {}

    StoreLayout layout_;
    bool gapless_ = false;
    std::unique_ptr<StoreFiles> files_; // has the directory, and its lock
    std::unique_ptr<File> lock_;
};

// For tools that only read: takes the locks of an existing store, without writing anything.
//   unavailable  a process has the store open; the message names it
[[nodiscard]] Result<StoreLock> lock_for_reading(Files& files, const std::string& path);

// A warning if more users than `access` says can read the store; else empty.
[[nodiscard]] Result<std::string>
describe_readers(Files& files, const std::string& path, StoreAccess access);

struct StoreFormat {
    std::uint64_t version = format_version;
    bool gapless = true;
};

// Writes FORMAT, the last step of making a store: without it a directory is not a store.
[[nodiscard]] Result<> write_format(Files& files, const std::string& path, bool gapless = true);

// Fails unless FORMAT is there and says something that this version understands.
[[nodiscard]] Result<StoreFormat> check_format(Files& files, const std::string& path);

// The directory name of an instance: safe on every file system for every id. Characters other than
// a-z, 0-9, '-' and '_' become %XX; a long name is cut and gets a hash of the whole id.
[[nodiscard]] std::string encode_id(std::string_view id);

} // namespace durable::fs
