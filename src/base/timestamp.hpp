// A moment as text for people: 2026-01-31T12:00:00.123Z, always in UTC.

#pragma once

#include <durable/time.hpp>

#include <string>

namespace durable {

[[nodiscard]] std::string timestamp(Instant time);

} // namespace durable
