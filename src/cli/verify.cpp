// `durable verify` and `durable repair`: stores of the filesystem provider, offline.

#include "providers/fs/repair/verify.hpp"

#include "base/files.hpp"
#include "cli/commands.hpp"
#include "providers/fs/repair/repair.hpp"

#include <durable/time.hpp>

#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>

namespace durable::cli {

namespace {

struct Options {
    std::string store;
    std::string fresh;
};

void print_state(const fs::Verification& found, std::ostream& out) {
    out << "state       " << found.live << " live and " << found.finished << " finished instances, "
        << found.messages << " messages, " << found.activities << " activities, "
        << found.quarantined << " quarantined\n";
}

ExitCode verify(const Options& options, std::ostream& out) {
    const auto found = fs::verify(system_files(), options.store, system_clock()->now());
    if (!found) {
        throw CommandFailed{"verify", found.error()};
    }
    if (found->checkpoint_bytes == 0) {
        out << (found->clean() ? "checkpoint  none\n" : "checkpoint  none that is whole\n");
    } else {
        out << "checkpoint  record " << found->checkpoint << ", " << found->checkpoint_instances
            << " instances, " << found->checkpoint_bytes << " bytes\n";
    }
    if (found->packs != 0) {
        out << "packs       " << found->packs << " packs, " << found->pack_bytes << " bytes\n";
    }
    for (const auto& pack : found->unnamed_packs) {
        out << "left over   " << pack << ": no checkpoint names it, removed by the next opening\n";
    }
    out << "journal     " << found->segments << " segments, " << found->segment_bytes << " bytes, "
        << found->records << " records behind the checkpoint, up to record " << found->last << '\n';
    if (found->torn) {
        out << "torn end    segment " << found->torn->segment << ", byte " << found->torn->offset
            << ": written in a crash, as far as the journal tells; no record proves that it was "
               "stored, cut off by the next opening\n";
    }
    print_state(*found, out);
    for (const auto& damage : found->damage) {
        out << "DAMAGED     " << damage << '\n';
    }
    out << (found->clean() ? "clean\n" : "damaged: see durable repair\n");
    return found->clean() ? success : failure;
}

ExitCode repair(const Options& options, std::ostream& out) {
    const auto done =
        fs::repair(system_files(), options.store, options.fresh, system_clock()->now());
    if (!done) {
        throw CommandFailed{"repair", done.error()};
    }
    out << options.fresh << " has the state up to record " << done->made.last << '\n';
    print_state(done->made, out);
    for (const auto& lost : done->lost) {
        out << "LOST        " << lost << '\n';
    }
    for (const auto& mended : done->mended) {
        out << "mended      " << mended << '\n';
    }
    if (!done->list.empty()) {
        out << "listed in   " << done->list << '\n';
    }
    if (done->lost.empty()) {
        out << "nothing was lost\n";
        return success;
    }
    out << "Instances whose records were lost go on from before them: steps that had ended since "
           "may "
           "run again.\n";
    return failure;
}

} // namespace

void add_verify(CLI::App& program, Console console) {
    auto* command = program.add_subcommand(
        "verify", "Read a store in a directory to the last byte; changes nothing");
    const auto options = std::make_shared<Options>();
    command->add_option("DIR", options->store, "The store; no process may have it open")
        ->required();
    command->callback([=] { console.result = verify(*options, console.out); });
}

void add_repair(CLI::App& program, Console console) {
    auto* command = program.add_subcommand(
        "repair", "Save what can be read of a damaged store into a new directory");
    const auto options = std::make_shared<Options>();
    command->add_option("DIR", options->store, "The damaged store: is read, never changed")
        ->required();
    command->add_option("NEW", options->fresh, "The new one: must be empty or not exist")
        ->required();
    command->callback([=] { console.result = repair(*options, console.out); });
}

} // namespace durable::cli
