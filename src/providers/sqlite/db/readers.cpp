#include "providers/sqlite/db/readers.hpp"

#include "base/try.hpp"
#include "providers/sqlite/db/sqlite_error.hpp"

#include <utility>

namespace durable::sqlite {

namespace {

constexpr std::size_t most_idle = 16;

} // namespace

Readers::Readers(std::string path, const Options& options)
    : path_{std::move(path)}, options_{options}, file_{find_file(path_)} {}

bool Readers::in_place() const {
    const auto found = file_ ? find_file(path_) : std::nullopt;
    return !file_ || (found && found->id == file_->id);
}

Result<std::unique_ptr<Connection>> Readers::take() {
    {
        const MutexLock lock{mutex_};
        if (!idle_.empty()) {
            auto taken = std::move(idle_.back());
            idle_.pop_back();
            return taken;
        }
    }
    auto opened =
        Connection::open(path_, {.vfs = options_.vfs, .busy_timeout = options_.busy_timeout});
    if (!in_place()) { // the opened file may be another one
        return std::unexpected{file_is_gone(path_)};
    }
    DURABLE_TRY_ASSIGN(auto made, std::move(opened));
    made->execute("PRAGMA query_only = 1");
    made->expect_log(log_);
    if (auto error = made->take_error()) {
        return std::unexpected{*std::move(error)};
    }
    return made;
}

Result<> Readers::use(const std::function<void(Connection&)>& user) {
    DURABLE_TRY_ASSIGN(auto db, take());
    run(*db, "BEGIN");
    user(*db);
    run(*db, "COMMIT");
    if (db->file_is_gone()) { // first: it may be the cause of other errors
        return std::unexpected{file_is_gone(path_)};
    }
    if (auto error = db->take_error()) {
        return std::unexpected{*std::move(error)}; // and drops the connection
    }
    const MutexLock lock{mutex_};
    if (idle_.size() < most_idle) {
        idle_.push_back(std::move(db));
    }
    return {};
}

} // namespace durable::sqlite
