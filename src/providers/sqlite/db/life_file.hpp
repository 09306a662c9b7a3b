// LifeFile: tells whether a process that opened the store still runs.
//
// A life is one provider object, from its open to its end. Beside the store is the file `-lives`;
// each life locks one byte of it. The system releases the lock when the process ends, however it
// ends: a life whose byte is unlocked is over, and store/lives.hpp ends its leases.
//
// The locks belong to the open file (F_OFD_SETLK), not to the process: opening and closing the file
// elsewhere in the process releases none of them, and a child made by fork holds its parent's for
// as long as it lives itself. SQLite's own files are never touched: closing any descriptor of those
// would release SQLite's locks.
//
// In doubt a life counts as alive: one that locked another file of this name, and every life on a
// file system whose locks this machine does not keep by itself.

#pragma once

#include "providers/sqlite/db/store_file.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace durable::sqlite {

class LifeFile {
 public:
    // Makes the file beside the store if there is none, with the permissions of the store's file.
    // nullptr: locks cannot tell lives apart here.
    [[nodiscard]] static std::unique_ptr<LifeFile> open(const std::string& store);
    LifeFile(const LifeFile&) = delete;
    LifeFile& operator=(const LifeFile&) = delete;
    ~LifeFile();

    [[nodiscard]] const FileId& id() const noexcept { return id_; }
    // Locks the byte of this life until the object or the process ends. False: other processes
    // would not see the lock.
    [[nodiscard]] bool begin(std::int64_t life);
    // Whether a life of another object, which locked this very file, is over.
    [[nodiscard]] bool is_over(std::int64_t life) const;

    // For a life that ends with the process, not with its provider.
    static void keep_until_exit(std::unique_ptr<LifeFile> file);

 private:
    LifeFile(std::string path, int descriptor, const FileId& id);

    const std::string path_;
    const int descriptor_;
    const FileId id_;
};

} // namespace durable::sqlite
