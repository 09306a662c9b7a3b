#include "cli/program.hpp"

#include <iostream>

int main(int argc, char** argv) {
    const auto code = durable::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
    std::cout.flush();
    if (!std::cout) { // a full disk, a closed pipe: the output is lost
        std::cerr << "durable: cannot write the output\n";
        return durable::cli::failure;
    }
    return code;
}
