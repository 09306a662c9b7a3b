// LifeFile: tells whether a process that opened the store is still there.
//
// Beside the store is the file `-lives`. Each provider locks one byte of it for as long as it
// exists. The system releases the lock when the process ends, however it ends: a life whose byte is
// free is over, and its leases end with it.
//
// The locks belong to the open file (F_OFD_SETLK), not to the process: opening and closing the file
// elsewhere in the process releases none of them, and a child made by fork holds its parent's for
// as long as it lives itself. SQLite's own files are never touched: closing any descriptor of those
// would release SQLite's locks.
//
// What is not known for certain counts as alive: a life that locked another file of this name, and
// every life on a file system whose locks this machine does not keep by itself.

#pragma once

#include "providers/sqlite/store_file.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace durable::sqlite {

class LifeFile {
 public:
    // Makes the file beside the store if there is none, with the permissions of the store's own.
    // nullptr: lives cannot be told here.
    [[nodiscard]] static std::unique_ptr<LifeFile> open(const std::string& store);
    LifeFile(const LifeFile&) = delete;
    LifeFile& operator=(const LifeFile&) = delete;
    ~LifeFile();

    [[nodiscard]] const FileId& id() const noexcept { return id_; }
    // From now on this life is there, until the object or the process ends. False: others would not
    // see that.
    [[nodiscard]] bool begin(std::int64_t life);
    // Of a life of another object, which has locked this very file.
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
