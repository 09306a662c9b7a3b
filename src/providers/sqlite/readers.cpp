#include "providers/sqlite/readers.hpp"

#include "base/try.hpp"
#include "providers/sqlite/sqlite_error.hpp"

#include <utility>

namespace durable::sqlite {

namespace {

constexpr std::size_t most_idle = 16;

} // namespace

Readers::Readers(std::string path, const Options& options)
    : path_{std::move(path)}, options_{options} {}

Result<std::unique_ptr<Connection>> Readers::take() {
    {
        const MutexLock lock{mutex_};
        if (!idle_.empty()) {
            auto taken = std::move(idle_.back());
            idle_.pop_back();
            return taken;
        }
    }
    DURABLE_TRY_ASSIGN(
        auto made,
        Connection::open(path_, {.vfs = options_.vfs, .busy_timeout = options_.busy_timeout}));
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
    if (auto error = db->take_error()) {
        return std::unexpected{*std::move(error)}; // and the connection goes
    }
    if (db->file_is_gone()) {
        return std::unexpected{file_is_gone(path_)};
    }
    const MutexLock lock{mutex_};
    if (idle_.size() < most_idle) {
        idle_.push_back(std::move(db));
    }
    return {};
}

} // namespace durable::sqlite
