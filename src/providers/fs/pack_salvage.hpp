// What is whole in a pack that may be damaged.
//
// A checkpoint says by number which lines of a pack are dead, so a line counts only if its number
// is known: from its place or its id, when the index of the pack is whole, or by counting from an
// end that is not damaged. What cannot be told is not guessed.

#pragma once

#include "providers/fs/pack_file.hpp"
#include "providers/fs/salvage.hpp"
#include "providers/ledger/image.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::fs {

struct LostInPack {
    std::optional<std::string> id; // nullopt: the index does not tell
    std::string text;
};

struct SalvagedPack {
    // The data of the file from its first line on without gaps: lines that are whole, and what lies
    // between them, which is not live and has no id.
    std::vector<PackLine> stretches;
    std::vector<bool> live;
    // Live, but before the first line of a pack of that number: its file was renamed.
    std::vector<ledger::InstanceImage> outside;
    std::vector<Remains> remains;
    // Instances that it had and has no more, as far as the index tells.
    std::vector<LostInPack> lost;
};

// `each` sees every whole instance, dead ones too.
[[nodiscard]] SalvagedPack
salvage_pack(const std::string& path,
             std::string_view content,
             const PackRecord& record,
             const std::function<void(const ledger::InstanceImage&)>& each);

} // namespace durable::fs
