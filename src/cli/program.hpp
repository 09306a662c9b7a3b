// The program `durable`: checks providers and measures stores. Everything but main(), so that tests
// can call it.

#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace durable::cli {

enum ExitCode : int {
    success = 0,
    failure = 1,       // it ran, and found a failed check or damage
    bad_use = 2,       // it could not run: one line on `err` says why
    interrupted = 130, // by a signal; a shell's code for a program that Ctrl-C ended
};

// `arguments` without the program's own name.
[[nodiscard]] ExitCode
run_program(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

} // namespace durable::cli
