// The names that records of the journal are written with.

#pragma once

#include "providers/ledger/record.hpp"

#include <array>
#include <string_view>
#include <variant>

namespace durable::fs {

// In the order of ledger::Operation.
inline constexpr std::array op_names = {
    std::string_view{"enqueue_message"},
    std::string_view{"start_instance"},
    std::string_view{"enqueue_work"},
    std::string_view{"fetch_turn"},
    std::string_view{"fetch_work"},
    std::string_view{"commit_turn"},
    std::string_view{"abandon_turn"},
    std::string_view{"finish_work"},
    std::string_view{"abandon_work"},
    std::string_view{"append"},
    std::string_view{"delete"},
    std::string_view{"prune"},
    std::string_view{"expire"},
    std::string_view{"quarantine"},
    std::string_view{"quarantine_text"},
};
static_assert(op_names.size() == std::variant_size_v<ledger::Operation>);

// In the order of ledger::KvChange::Kind.
inline constexpr std::array kv_names = {
    std::string_view{"set"}, std::string_view{"clear"}, std::string_view{"clear_all"}};

} // namespace durable::fs
