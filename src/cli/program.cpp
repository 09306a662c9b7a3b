#include "cli/program.hpp"

#include "cli/commands.hpp"

#include <durable/version.hpp>

#include <algorithm>
#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>

namespace durable::cli {

ExitCode run_program(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
    CLI::App program{"Durable execution for C++: check providers, measure stores.", "durable"};
    program.set_version_flag("--version", "durable " + engine_version_text());
    program.require_subcommand(0, 1); // a missing one is reported below, after misspelt ones
    ExitCode result = success;
    const Console console{.out = out, .err = err, .result = result};
    add_bench(program, console);
    add_validate(program, console);
    add_verify(program, console);
    add_repair(program, console);
    add_export(program, console);

    std::ranges::reverse(arguments); // CLI11 takes them from the back
    try {
        program.parse(std::move(arguments));
        if (program.get_subcommands().empty()) {
            throw CLI::RequiredError{"A command"};
        }
    } catch (const CLI::Success& asked) { // --help, --version
        program.exit(asked, out, err);
        return success;
    } catch (const CLI::Error& mistake) {
        err << "durable: " << mistake.what() << " (see durable --help)\n";
        return bad_use;
    } catch (const CommandFailed& failed) {
        err << "durable: " << failed.what() << '\n';
        return bad_use;
    }
    return result;
}

} // namespace durable::cli
