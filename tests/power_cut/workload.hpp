// The workload: a program that uses a store as runtimes and clients do, many calls of many kinds
// from several threads, and writes into its diary, standard output, what it asks and what was
// acknowledged (facts.hpp). It knows nothing of a recorder.

#pragma once

#include "power_cut/stores.hpp"

#include <cstddef>
#include <cstdint>

namespace durable::power_cut {

struct Work {
    StorePlace place;
    std::uint64_t seed = 0;
    std::size_t member = 0; // a store of several processes: which one this is
    bool large = true;      // also with records and transactions larger than what is ready for them
};

// Returns when all calls are made. Throws std::runtime_error when the store cannot be opened.
void do_work(const Work& work);

} // namespace durable::power_cut
