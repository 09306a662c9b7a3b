#include "cli/fs_factory.hpp"

#include "base/process.hpp"
#include "base/try.hpp"

#include <utility>

namespace durable::cli {

FsFactory::FsFactory(std::string directory, fs::Machine machine)
    : directory_{std::move(directory)}, machine_{std::move(machine)} {}

FsFactory::~FsFactory() {
    for (const auto& [number, store] : stores_) {
        remove(number);
    }
}

void FsFactory::remove(std::uint64_t number) const {
    auto& files = machine_.files != nullptr ? *machine_.files : system_files();
    (void)remove_tree(files, path(number));
}

std::string FsFactory::path(std::uint64_t number) const {
    return directory_ + "/validate-" + std::to_string(process_id()) + "-" + std::to_string(number);
}

Result<std::shared_ptr<Provider>> FsFactory::create() {
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
    return reopen();
}

Result<std::shared_ptr<Provider>> FsFactory::reopen() {
    DURABLE_TRY_ASSIGN(auto store, fs::FsProvider::open(path(made_), {.clock = clock_}, machine_));
    latest_ = store;
    stores_[made_] = store;
    return store;
}

Result<std::shared_ptr<fs::FsProvider>> FsFactory::latest() const {
    auto store = latest_.lock();
    if (store == nullptr) {
        return fail(ErrorCode::invalid_argument, "the store is closed");
    }
    return store;
}

Result<> FsFactory::corrupt_history(const std::string& instance) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->corrupt_history(instance);
}

Result<> FsFactory::corrupt_event(const std::string& instance,
                                  std::uint64_t execution_id,
                                  std::uint64_t event_id) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->corrupt_event(instance, execution_id, event_id);
}

Result<> FsFactory::inject_orchestrator_row(const std::string& instance, const std::string& text) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->inject_orchestrator_row(instance, text);
}

Result<> FsFactory::inject_worker_row(const std::string& text) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->inject_worker_row(text);
}

Result<std::uint32_t> FsFactory::max_attempt_count(const std::string& instance) {
    DURABLE_TRY_ASSIGN(const auto store, latest());
    return store->max_attempt_count(instance);
}

} // namespace durable::cli
