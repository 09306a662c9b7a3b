// The program called as from a shell, without a process.

#pragma once

#include "cli/program.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::cli {

struct Run {
    ExitCode exit = success;
    std::string out;
    std::string err;
};

inline Run durable_with(std::vector<std::string> arguments) {
    std::ostringstream out;
    std::ostringstream err;
    const auto exit = run_program(std::move(arguments), out, err);
    return {.exit = exit, .out = out.str(), .err = err.str()};
}

// Bad use ends with code 2 and one line that says what is wrong.
inline void expect_bad_use(std::vector<std::string> arguments, const std::string& reason) {
    const auto run = durable_with(std::move(arguments));
    EXPECT_EQ(run.exit, bad_use);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(reason), std::string::npos) << run.err;
}

} // namespace durable::cli
