// Stores on a simulated disk of their own, for the kit: fast, and nothing is left behind.

#pragma once

#include "cli/fs_factory.hpp"
#include "providers/fs/fs_provider.hpp"
#include "simulation/sim_files.hpp"
#include "validation/support/forwarding_factory.hpp"

#include <memory>

namespace durable::fs {

// Small segments, many checkpoints, and packs as soon as an instance has finished: what they break
// shows in every test.
inline Machine small_machine(Files& files) {
    return {.files = &files,
            .threads = false,
            .segment_sizes = {.first = 1U << 12U, .largest = 1U << 14U},
            .checkpoint_bytes = 1U << 12U,
            .checkpoint_piece = 1U << 8U,
            .pack_bytes = 0,
            .small_packs = 3,
            .most_copies = 0};
}

inline Machine threaded_machine(Files& files) {
    auto machine = small_machine(files);
    machine.threads = true;
    return machine;
}

struct SimDisk {
    simulation::SimFiles files{1};
    cli::FsFactory stores{"/stores", small_machine(files)};
};

struct ThreadedDisk {
    simulation::SimFiles files{1};
    cli::FsFactory stores{"/stores", threaded_machine(files)};
};

class ThreadedStores final : private ThreadedDisk, public validation::ForwardingFactory {
 public:
    ThreadedStores() : ForwardingFactory{stores} {}
};

class SimStores final : private SimDisk, public validation::ForwardingFactory {
 public:
    SimStores() : ForwardingFactory{stores} {}
};

struct ReopenedDisk {
    SimDisk disk;
    std::unique_ptr<validation::Factory> reopening = validation::reopening_factory(disk.stores);
};

// Closed and opened again before every call.
class ReopenedStores final : private ReopenedDisk, public validation::ForwardingFactory {
 public:
    ReopenedStores() : ForwardingFactory{*reopening} {}
};

} // namespace durable::fs
