// The limits that replay enforces: the public ones, under the name this room uses.

#pragma once

#include <durable/limits.hpp>

namespace durable::replay {

using durable::Limits;

} // namespace durable::replay
