// The SQLite provider: one file, several processes of one machine, SQL at hand.
//
// Group commit: all calls that wait at the same moment become one transaction. Leases run on the
// machine's steady clock, which all its processes share: setting the time does not change them, and
// a restart of the machine ends them all. docs/storage/sqlite.md describes the tables, and the
// views durable_instances, durable_history and durable_pending that people may query.

#pragma once

#include <durable/log.hpp>
#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/store_access.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace durable::sqlite {

enum class Synchronous : std::uint8_t {
    full,   // what has left the process survives a power cut (Durability::power_loss)
    normal, // it survives kill -9; a power cut may undo the latest calls (process_crash)
};

struct Options {
    std::shared_ptr<Clock> clock{}; // nullptr: the machine's
    Synchronous synchronous = Synchronous::full;
    // How long a message waits for an instance that has not started (P6).
    Timespan unstarted_message_ttl = std::chrono::hours{1};
    // How long a transaction waits while other processes hold the file, before its calls return
    // unavailable. A call that comes meanwhile waits for that transaction, and then for its own.
    Timespan busy_timeout = std::chrono::seconds{10};
    std::string vfs{}; // the SQLite VFS to open the file with; empty: the default one
    // Which users may open the files that the store makes, with the default VFS.
    StoreAccess access = StoreAccess::owner;
    std::shared_ptr<Logger> logger{}; // nullptr: warnings go to stderr
};

// Opens the store in this file, which is made if it does not exist. ":memory:" is a store without a
// file, for this provider alone; its durability() is none. Any other path is the name of a file,
// also one that begins with "file:" or has a '?' in it. A process that was made with fork() and
// goes on without exec() must not use a provider that was opened before.
//   unavailable       other processes hold the file for longer than busy_timeout; the disk is
//                     full; too many files are open
//   invalid_argument  the file is a database of something else, keeps texts as UTF-16 or has
//                     several names (hard links); the ttl or busy_timeout is negative; the path is
//                     empty or has a zero byte
//   unsupported       a newer version of the library wrote it
//   corrupt           it is no SQLite database, or a damaged one
//   storage_failed    it cannot be opened or written; the message says why
[[nodiscard]] Result<std::shared_ptr<Provider>> open(const std::string& path, Options options = {});

} // namespace durable::sqlite
