// What `durable validate` prints, for any factory: one line per check and a line of totals.

#pragma once

#include "cli/program.hpp"

#include <durable/validation.hpp>

#include <iosfwd>
#include <string_view>
#include <vector>

namespace durable::cli {

// The checks whose "category/name" contains the text.
[[nodiscard]] std::vector<validation::Check> select_checks(std::string_view text);

// Runs them; `failure` when any fails.
[[nodiscard]] ExitCode run_checks(const std::vector<validation::Check>& checks,
                                  validation::Factory& factory,
                                  std::ostream& out);

} // namespace durable::cli
