// `durable export`: instances of a store in a directory as files that people can read.

#include "base/files.hpp"
#include "cli/commands.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/views/views.hpp"

#include <durable/time.hpp>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace durable::cli {

namespace {

struct ExportOptions {
    std::string store;
    std::string target;
    std::vector<std::string> instances;
};

ExitCode export_store(const ExportOptions& options, std::ostream& out) {
    const auto target =
        options.target.empty() ? fs::StoreLayout{options.store}.instances() : options.target;
    const auto done = fs::export_views(
        system_files(), options.store, target, options.instances, system_clock()->now());
    if (!done) {
        throw CommandFailed{"export", done.error()};
    }
    out << target << (done->written == 1 ? " has the view of " : " has the views of ")
        << done->written << (done->written == 1 ? " instance" : " instances");
    if (done->removed != 0) {
        out << ", " << done->removed << " of instances that are no more were removed";
    }
    out << '\n';
    for (const auto& instance : options.instances) {
        out << target << '/' << fs::encode_id(instance) << '\n';
    }
    return success;
}

} // namespace

void add_export(CLI::App& program, Console console) {
    auto* command = program.add_subcommand(
        "export", "Write instances of a store in a directory as files to read: less, grep, jq");
    const auto options = std::make_shared<ExportOptions>();
    command->add_option("DIR", options->store, "The store; no process may have it open")
        ->required();
    command->add_option("OUT", options->target, "Where to; DIR/instances unless given");
    command->add_option("--instance", options->instances, "Only this one; may be given again");
    command->callback([=] { console.result = export_store(*options, console.out); });
}

} // namespace durable::cli
