// The subcommands of `durable`, one file each. Each declares its options; parsing then runs the one
// that was named. A command throws CLI::ValidationError for arguments that make no sense.

#pragma once

#include "cli/program.hpp"

#include <iosfwd>

namespace CLI {
class App;
}

namespace durable::cli {

struct Console {
    std::ostream& out;
    std::ostream& err;
    ExitCode& result; // of the command that ran
};

void add_bench(CLI::App& program, Console console);
void add_export(CLI::App& program, Console console);
void add_repair(CLI::App& program, Console console);
void add_validate(CLI::App& program, Console console);
void add_verify(CLI::App& program, Console console);

} // namespace durable::cli
