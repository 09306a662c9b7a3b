// Stores for the kit. Those in files do not sync: what a power cut does is tested elsewhere.

#pragma once

#include "cli/sqlite_factory.hpp"
#include "unit/fs/temporary_directory.hpp"
#include "validation/support/forwarding_factory.hpp"

namespace durable::sqlite {

struct FilesOfStores {
    TemporaryDirectory directory;
    cli::SqliteFactory stores{directory.path() + "/store", {.synchronous = Synchronous::normal}};
};

class FileStores final : private FilesOfStores, public validation::ForwardingFactory {
 public:
    FileStores() : ForwardingFactory{stores} {}
};

struct StoresInMemory {
    cli::SqliteFactory stores{":memory:"};
};

class MemoryStores final : private StoresInMemory, public validation::ForwardingFactory {
 public:
    MemoryStores() : ForwardingFactory{stores} {}
};

} // namespace durable::sqlite
