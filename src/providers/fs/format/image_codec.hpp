// Images of instances, and what belongs to no instance, as JSON objects: the content of checkpoints
// and packs. docs/storage/fs.md lists every member.

#pragma once

#include "providers/ledger/image.hpp"

#include <durable/result.hpp>

#include <string>
#include <string_view>

namespace durable::fs {

// Appends one object. Does not fail for the state of a ledger: the journal has encoded it before.
[[nodiscard]] Result<> encode_image(std::string& out, const ledger::InstanceImage& image);
[[nodiscard]] Result<> encode_rest(std::string& out, const ledger::RestImage& rest);

// corrupt: not what the encoder wrote.
[[nodiscard]] Result<ledger::InstanceImage> decode_image(std::string_view json);
[[nodiscard]] Result<ledger::RestImage> decode_rest(std::string_view json);

} // namespace durable::fs
