#include "cli/sqlite_factory.hpp"

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/try.hpp"

#include <utility>

namespace durable::cli {

SqliteFactory::SqliteFactory(std::string path, sqlite::Options options)
    : path_{std::move(path)}, options_{std::move(options)} {
    options_.clock = clock_;
}

SqliteFactory::~SqliteFactory() {
    for (const auto& [number, store] : stores_) {
        remove(number);
    }
}

void SqliteFactory::remove(std::uint64_t number) const {
    for (const auto* part : {"", "-wal", "-shm"}) {
        (void)system_files().remove(file(number) + part);
    }
}

std::string SqliteFactory::file(std::uint64_t number) const {
    return in_memory() ? path_
                       : path_ + "-" + std::to_string(process_id()) + "-" + std::to_string(number);
}

Result<std::shared_ptr<Provider>> SqliteFactory::create() {
    // Only the latest store is opened again. Older ones are removed now, so that a killed process
    // leaves little behind.
    std::erase_if(stores_, [&](const auto& made) {
        const auto closed = made.second.expired();
        if (closed) {
            remove(made.first);
        }
        return closed;
    });
    ++made_;
    return open_latest();
}

Result<std::shared_ptr<Provider>> SqliteFactory::reopen() {
    return in_memory() ? Factory::reopen() : open_latest();
}

Result<std::shared_ptr<Provider>> SqliteFactory::open_latest() {
    DURABLE_TRY_ASSIGN(auto store, sqlite::SqliteProvider::open(file(made_), options_));
    latest_ = store;
    if (!in_memory()) {
        stores_[made_] = store;
    }
    return store;
}

Result<std::shared_ptr<sqlite::SqliteProvider>> SqliteFactory::latest() const {
    auto store = latest_.lock();
    if (store == nullptr) {
        return fail(ErrorCode::invalid_argument, "the store is closed");
    }
    return store;
}

Result<> SqliteFactory::corrupt_history(const std::string& instance) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->corrupt_history(instance);
}

Result<> SqliteFactory::corrupt_event(const std::string& instance,
                                      std::uint64_t execution_id,
                                      std::uint64_t event_id) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->corrupt_event(instance, execution_id, event_id);
}

Result<> SqliteFactory::inject_orchestrator_row(const std::string& instance,
                                                const std::string& text) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->inject_orchestrator_row(instance, text);
}

Result<> SqliteFactory::inject_worker_row(const std::string& text) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->inject_worker_row(text);
}

Result<std::uint32_t> SqliteFactory::max_attempt_count(const std::string& instance) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->max_attempt_count(instance);
}

} // namespace durable::cli
