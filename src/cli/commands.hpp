// The subcommands of `durable`, one file each. Each declares its options; parsing then runs the
// named one. A command throws CLI::ValidationError for arguments that make no sense, and
// CommandFailed when it cannot do what valid arguments ask for.

#pragma once

#include "cli/program.hpp"

#include <durable/result.hpp>

#include <iosfwd>
#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace durable::cli {

struct CommandFailed : std::runtime_error {
    CommandFailed(const std::string& command, const Error& why)
        : std::runtime_error{command + ": " + why.message} {}
};

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
