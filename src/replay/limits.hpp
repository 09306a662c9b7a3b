#pragma once

#include <durable/limits.hpp>

namespace durable::replay {

using durable::Limits;

} // namespace durable::replay
