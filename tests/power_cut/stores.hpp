// The stores under test, opened as the workload and the look need them.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace durable::power_cut {

enum class Kind : std::uint8_t { fs, sqlite, files };

struct StorePlace {
    Kind kind = Kind::fs;
    std::string directory; // the store is in it, alone
    // Odd lives meet limits often: fs has small segments, checkpoints and packs. Even ones are as
    // users get it.
    std::uint64_t life = 1;

    [[nodiscard]] std::string path() const {
        return directory + (kind == Kind::sqlite ? "/store.db" : "/store");
    }
    [[nodiscard]] bool tight() const noexcept { return life % 2 == 1; }
};

// Time stands still in a life, and between two of them every lease ends.
[[nodiscard]] Result<std::shared_ptr<Provider>> open_store(const StorePlace& place);

// What the store's own check finds, `durable verify` or PRAGMA integrity_check; empty: nothing, or
// it has none. A store that does not exist, or whose making was cut off, has no flaw. No process
// may have it open.
[[nodiscard]] std::string flaw_of_store(const StorePlace& place);

// "TAG:SIZE:" and letters that follow from the tag, of that size.
[[nodiscard]] std::string make_payload(std::string_view tag, std::size_t size);
[[nodiscard]] bool is_payload(std::string_view tag, std::string_view payload);

} // namespace durable::power_cut
