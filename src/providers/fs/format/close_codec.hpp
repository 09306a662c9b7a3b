// Close: the last record of a journal that was closed in good order. It hands leases and sessions
// to the next process. With a record behind it, it has no effect.

#pragma once

#include "providers/ledger/handover.hpp"

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <string>
#include <string_view>

namespace durable::fs {

struct Close {
    Instant at;
    ledger::Handover handover;
    bool operator==(const Close&) const = default;
};

// Members without braces, as in record_codec.hpp.
[[nodiscard]] Result<> encode_members(std::string& out, const Close& close);

[[nodiscard]] bool is_close(std::string_view json) noexcept;
[[nodiscard]] Result<Close> decode_close(std::string_view json);

} // namespace durable::fs
