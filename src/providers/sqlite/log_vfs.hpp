// LogVfs: the frames of a commit reach the write-ahead log's file together.
//
// SQLite writes every page of a commit with two calls, a header of 24 bytes and the page. Here they
// are kept until the last one of the commit, which says in its header that it is, and then written
// at once: nobody, in whichever process, looks for a frame before the commit is complete. The error
// of that write is the error of the commit. Everything else goes straight through.

#pragma once

#include <string>

#include <sqlite3.h>

namespace durable::sqlite {

class LogVfs {
 public:
    // In front of the VFS of that name, empty: the default one, which must outlive it. Registered
    // under a name of its own for as long as it exists.
    explicit LogVfs(const std::string& base);
    LogVfs(const LogVfs&) = delete;
    LogVfs& operator=(const LogVfs&) = delete;
    ~LogVfs();

    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
    // Why the last write that failed did, as the system says it: SQLite does not keep that for a
    // commit.
    [[nodiscard]] int write_errno() const noexcept { return shim_.write_errno; }

 private:
    static int
    open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags);

    // What SQLite sees; it comes back as a pointer to `vfs`.
    struct Shim {
        sqlite3_vfs vfs{};
        sqlite3_vfs* base = nullptr; // nullptr: there is no such VFS
        int write_errno = 0;
    };

    std::string name_;
    Shim shim_;
};

} // namespace durable::sqlite
