// A look into the store that a power cut has left, in a process of its own.

#pragma once

#include "power_cut/facts.hpp"
#include "power_cut/stores.hpp"

namespace durable::power_cut {

// Lets the store check itself, opens it, reads everything by the calls that runtimes and people
// use, makes one more instance run, and lets it check itself again.
[[nodiscard]] Found look(const StorePlace& place);

} // namespace durable::power_cut
