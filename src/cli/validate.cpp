#include "cli/validate.hpp"

#include "cli/commands.hpp"
#include "cli/store_url.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace durable::cli {

namespace {

struct Options {
    std::string store;
    std::string filter;
    bool list = false;
};

std::string title(const validation::Check& check) {
    return std::string{check.category} + "/" + std::string{check.name};
}

std::unique_ptr<validation::Factory> make_factory(const std::string& store) {
    auto factory = validation_factory(store);
    if (!factory) {
        throw CLI::ValidationError{"validate", factory.error().message};
    }
    return *std::move(factory);
}

ExitCode validate(const Options& options, std::ostream& out) {
    const auto selected = select_checks(options.filter);
    if (selected.empty()) {
        throw CLI::ValidationError{"--filter", "no check contains '" + options.filter + "'"};
    }
    const auto factory = options.store.empty() ? nullptr : make_factory(options.store);
    if (options.list) {
        for (const auto& check : selected) {
            out << title(check) << '\n';
        }
        return success;
    }
    // When no store can be made, this is reported once, not for every check.
    if (const auto store = factory->create(); !store) {
        throw CLI::ValidationError{"validate", store.error().message};
    }
    return run_checks(selected, *factory, out);
}

} // namespace

std::vector<validation::Check> select_checks(std::string_view text) {
    std::vector<validation::Check> selected;
    std::ranges::copy_if(validation::checks(),
                         std::back_inserter(selected),
                         [text](const auto& check) { return title(check).contains(text); });
    return selected;
}

ExitCode run_checks(const std::vector<validation::Check>& checks,
                    validation::Factory& factory,
                    std::ostream& out) {
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t skipped = 0;
    for (const auto& check : checks) {
        const auto verdict = run(check, factory);
        switch (verdict.outcome) {
        case validation::Outcome::passed:
            ++passed;
            out << "ok   " << title(check) << std::endl; // flushed: a slow store takes minutes
            break;
        case validation::Outcome::skipped:
            ++skipped;
            out << "skip " << title(check) << ": " << verdict.message << std::endl;
            break;
        case validation::Outcome::failed:
            ++failed;
            out << "FAIL " << title(check) << " [" << check.promise << "]: " << verdict.message
                << std::endl;
            break;
        }
    }
    out << passed << " passed, " << failed << " failed";
    if (skipped > 0) {
        out << ", " << skipped << " skipped";
    }
    out << std::endl;
    return failed == 0 ? success : failure;
}

void add_validate(CLI::App& program, Console console) {
    auto* command = program.add_subcommand(
        "validate", "Check a provider against the storage contract, on fresh stores");
    const auto options = std::make_shared<Options>();
    auto* list = command->add_flag("--list", options->list, "Print the checks, run nothing");
    command->add_option("store", options->store, "Where: " + known_stores());
    command->add_option("--filter", options->filter, "Only checks whose category/name has this");
    command->callback([=] {
        if (options->store.empty() && list->empty()) {
            throw CLI::ValidationError{"validate", "needs a store: " + known_stores()};
        }
        console.result = validate(*options, console.out);
    });
}

} // namespace durable::cli
