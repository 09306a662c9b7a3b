#include "e2e/e2e.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/fs.hpp>
#include <durable/memory.hpp>
#if DURABLE_SQLITE
#include <durable/sqlite.hpp>
#endif

#include <cstdlib>
#include <string_view>
#include <utility>

namespace durable::e2e {
namespace {

// A store and where it lives: the directory goes when the store is closed.
struct StoredFiles {
    TemporaryDirectory directory;
    std::shared_ptr<Provider> store;
};

template <class Open>
std::shared_ptr<Provider> open_in_directory(Open&& open) {
    auto files = std::make_shared<StoredFiles>();
    files->store = open(files->directory.path()).value();
    auto* const store = files->store.get();
    return {std::move(files), store};
}

} // namespace

std::shared_ptr<Provider> make_store(std::shared_ptr<Clock> clock) {
    const char* named = std::getenv("DURABLE_E2E_STORE"); // NOLINT(concurrency-mt-unsafe)
    const std::string_view kind = named == nullptr ? "memory" : named;
    if (kind == "memory") {
        return memory::open({.clock = std::move(clock)});
    }
    if (kind == "fs") {
        return open_in_directory([&](const std::string& directory) {
            return fs::open(directory, {.clock = clock, .durability = Durability::process_crash});
        });
    }
#if DURABLE_SQLITE
    if (kind == "sqlite") {
        return open_in_directory([&](const std::string& directory) {
            return sqlite::open(directory + "/store.db",
                                {.clock = clock, .synchronous = sqlite::Synchronous::normal});
        });
    }
#endif
    std::abort(); // a test that runs on another store than it says is worse than none
}

} // namespace durable::e2e
