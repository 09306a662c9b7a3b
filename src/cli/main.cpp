#include "cli/program.hpp"

#include <iostream>

int main(int argc, char** argv) {
    return durable::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
}
