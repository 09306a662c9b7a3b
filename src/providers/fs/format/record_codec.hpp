// Records of the ledger as JSON, one object per record: the content of the journal.
//
//   "at":1760000000000,"op":"commit_turn","instance":"order-1","execution":1,"consumed":[7], …
//
// Events and work items are embedded as objects, so that grep and jq find them. A text that is not
// an object on one line (damage, which is kept unchanged) becomes a string, or an array with its
// bytes in hexadecimal when it is not UTF-8. Members with their default value are left out.
// docs/storage/fs.md lists every member.

#pragma once

#include "providers/ledger/record.hpp"

#include <durable/result.hpp>

#include <string>
#include <string_view>

namespace durable::fs {

// Appends the members without the braces: the journal adds its own in front.
// Fails (invalid_argument, `out` unchanged) when an id or a name is not UTF-8.
[[nodiscard]] Result<> encode_members(std::string& out, const ledger::Record& record);

// Reads a whole object; skips unknown members (the journal's own).
[[nodiscard]] Result<ledger::Record> decode_record(std::string_view json);

} // namespace durable::fs
