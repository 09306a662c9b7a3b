// Survival: what of the changes that were not synced a power cut leaves.
//
// A disk may write them in any order, each or none. Chance alone would hardly ever leave all but
// one, or exactly those before a moment: so there are several ways to choose, and a seed.

#pragma once

#include "base/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace durable::power_cut {

// Of what was written, by sectors.
enum class Data : std::uint8_t {
    none,
    all,
    before,  // in order: up to a moment, and some sectors of the write that it falls into
    since,   // the wrong way round: from a moment on
    writes,  // each write as a whole, or not
    sectors, // each sector of each write, or not
};

// Of the sizes of a file, in order: an extension may come in part.
enum class Sizes : std::uint8_t { none, all, some };

// Of changes of names.
enum class Names : std::uint8_t {
    none,
    all,
    any,     // each or not, in any order; a sync of its directory makes it durable, nothing else
    journal, // in order; any sync makes all before it durable, as with a journal of metadata
};

struct Survival {
    Data data = Data::none;
    Sizes sizes = Sizes::none;
    Names names = Names::none;
    std::size_t moment = 0;    // of `before`, `since` and `journal`: a position in the trace
    unsigned chance = 50;      // per cent, of `writes`, `sectors` and `any`
    std::uint64_t seed = 0;    // of the choices
    bool spoiled_maps = false; // files that are mapped into memory hold garbage, else nothing

    // For a cut at `position`, any of them.
    [[nodiscard]] static Survival choose(Random& random, std::size_t position);
};

[[nodiscard]] std::string describe(const Survival& survival);

// From the simplest on: what to try first when a cut is to be explained.
inline constexpr std::array<Survival, 3> simple_survivals{
    Survival{},
    Survival{.data = Data::all, .sizes = Sizes::all, .names = Names::all},
    Survival{.data = Data::all, .sizes = Sizes::none, .names = Names::none},
};

} // namespace durable::power_cut
