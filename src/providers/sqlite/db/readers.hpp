// Readers: a pool of connections that only read. SqliteProvider borrows one for each read call.

#pragma once

#include "base/mutex.hpp"
#include "providers/sqlite/db/connection.hpp"
#include "providers/sqlite/db/store_file.hpp"

#include <durable/result.hpp>
#include <durable/sqlite.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {

class Readers {
 public:
    // For the file that has this path now; the Writer keeps it open.
    Readers(std::string path, const Options& options);

    // The log file that every reader has to find. Called before the first use.
    void expect_log(std::optional<Connection::FileIdentity> log) { log_ = log; }

    // Lends a connection inside a transaction: what `user` sees is one state of the store, at
    // least as new as what was committed before.
    [[nodiscard]] Result<> use(const std::function<void(Connection&)>& user)
        DURABLE_EXCLUDES(mutex_);

 private:
    [[nodiscard]] Result<std::unique_ptr<Connection>> take() DURABLE_EXCLUDES(mutex_);
    // Whether the path still leads to the file of the store.
    [[nodiscard]] bool in_place() const;

    const std::string path_;
    const Options options_;
    const std::optional<StoreFile> file_; // nullopt: it is none of the system's
    std::optional<Connection::FileIdentity> log_;
    Mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::sqlite
