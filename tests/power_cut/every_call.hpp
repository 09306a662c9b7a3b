// Every call that the recorder knows, made by a process under it.

#pragma once

#include <string>

namespace durable::power_cut {

// The child's side. Throws std::runtime_error when the system refuses one.
void make_every_call(const std::string& directory);

// Lets a child make them, and says how the trace differs from what they have made, or which calls
// and which promises of durability it lacks; empty: nothing.
[[nodiscard]] std::string flaw_of_recorder(const std::string& scratch);

} // namespace durable::power_cut
