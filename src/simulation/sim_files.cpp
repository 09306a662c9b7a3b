#include "simulation/sim_files.hpp"

#include "simulation/sim_file.hpp"
#include "simulation/sim_inode.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>

namespace durable::simulation {

// Atomic: a rename removes one name and sets another. A sync of `directory` makes it durable.
struct SimFiles::NameChange {
    std::string directory;
    std::optional<std::string> removed;
    std::optional<std::pair<std::string, std::shared_ptr<SimInode>>> set;

    void apply(Names& names) const {
        if (removed) {
            names.erase(*removed);
        }
        if (set) {
            names.insert_or_assign(set->first, set->second);
        }
    }
};

SimFiles::SimFiles(std::uint64_t seed) : random_{seed} {
    const auto root = std::make_shared<SimInode>();
    root->directory = true;
    names_["/"] = root;
    durable_names_["/"] = root;
}

SimFiles::~SimFiles() = default;

FileResult<std::unique_ptr<File>> SimFiles::open(const std::string& path, OpenMode mode) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("open", path, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (chance(rates_.no_handles)) {
        return simulated_error(std::errc::too_many_files_open, "open", path);
    }
    auto found = names_.find(path);
    if (found != names_.end() && found->second->directory) {
        return simulated_error(std::errc::is_a_directory, "open", path);
    }
    if (found != names_.end() && mode == OpenMode::create) {
        return simulated_error(std::errc::file_exists, "open", path);
    }
    const bool creates = mode == OpenMode::create || mode == OpenMode::write_or_create;
    if (found == names_.end()) {
        if (!creates || !is_directory(parent_path(path))) {
            return simulated_error(std::errc::no_such_file_or_directory, "open", path);
        }
        if (chance(rates_.no_space)) {
            return simulated_error(std::errc::no_space_on_device, "open", path);
        }
        const auto inode = std::make_shared<SimInode>();
        change_names({std::string{parent_path(path)}, std::nullopt, std::pair{path, inode}},
                     *verdict);
        if (*verdict == Verdict::crash) {
            return power_is_off("open", path);
        }
        return std::make_unique<SimFile>(*this, inode, path, true, boot_);
    }
    if (*verdict == Verdict::crash) {
        return power_is_off("open", path);
    }
    return std::make_unique<SimFile>(*this, found->second, path, mode != OpenMode::read, boot_);
}

FileResult<> SimFiles::make_directory(const std::string& path) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("make directory", path, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (const auto found = names_.find(path); found != names_.end()) {
        return found->second->directory
                   ? FileResult<>{}
                   : simulated_error(std::errc::not_a_directory, "make directory", path);
    }
    if (!is_directory(parent_path(path))) {
        return simulated_error(std::errc::no_such_file_or_directory, "make directory", path);
    }
    const auto inode = std::make_shared<SimInode>();
    inode->directory = true;
    change_names({std::string{parent_path(path)}, std::nullopt, std::pair{path, inode}}, *verdict);
    return *verdict == Verdict::go ? FileResult<>{} : power_is_off("make directory", path);
}

FileResult<> SimFiles::rename(const std::string& from, const std::string& to) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("rename", from, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    const auto found = names_.find(from);
    if (found == names_.end() || !is_directory(parent_path(to))) {
        return simulated_error(std::errc::no_such_file_or_directory, "rename", from);
    }
    if (found->second->directory) {
        return simulated_error(std::errc::operation_not_supported, "rename a directory", from);
    }
    change_names({std::string{parent_path(to)}, from, std::pair{to, found->second}}, *verdict);
    return *verdict == Verdict::go ? FileResult<>{} : power_is_off("rename", from);
}

FileResult<> SimFiles::remove(const std::string& path) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("remove", path, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    const auto found = names_.find(path);
    if (found == names_.end()) {
        return simulated_error(std::errc::no_such_file_or_directory, "remove", path);
    }
    if (found->second->directory) {
        return simulated_error(std::errc::is_a_directory, "remove", path);
    }
    change_names({std::string{parent_path(path)}, path, std::nullopt}, *verdict);
    return *verdict == Verdict::go ? FileResult<>{} : power_is_off("remove", path);
}

FileResult<> SimFiles::remove_directory(const std::string& path) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("remove directory", path, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (!is_directory(path)) {
        return simulated_error(std::errc::no_such_file_or_directory, "remove directory", path);
    }
    const auto below = names_.upper_bound(path + "/");
    if (below != names_.end() && below->first.starts_with(path + "/")) {
        return simulated_error(std::errc::directory_not_empty, "remove directory", path);
    }
    change_names({std::string{parent_path(path)}, path, std::nullopt}, *verdict);
    return *verdict == Verdict::go ? FileResult<>{} : power_is_off("remove directory", path);
}

FileResult<std::vector<DirectoryEntry>> SimFiles::list(const std::string& directory) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("list", directory, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (*verdict == Verdict::crash) {
        return power_is_off("list", directory);
    }
    if (!is_directory(directory)) {
        return simulated_error(std::errc::no_such_file_or_directory, "list", directory);
    }
    const std::string prefix = directory == "/" ? directory : directory + "/";
    std::vector<DirectoryEntry> entries;
    for (auto at = names_.upper_bound(prefix); at != names_.end() && at->first.starts_with(prefix);
         ++at) {
        const auto name = std::string_view{at->first}.substr(prefix.size());
        if (!name.contains('/')) {
            entries.push_back({std::string{name}, at->second->directory});
        }
    }
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
}

FileResult<> SimFiles::sync_directory(const std::string& path) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("sync directory", path, rates_.sync_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (!is_directory(path)) {
        return simulated_error(std::errc::no_such_file_or_directory, "sync directory", path);
    }
    if (*verdict == Verdict::go || chance(500)) {
        for (const auto& change : pending_names_) {
            if (change.directory == path) {
                change.apply(durable_names_);
            }
        }
        std::erase_if(pending_names_,
                      [&](const NameChange& change) { return change.directory == path; });
    }
    return *verdict == Verdict::go ? FileResult<>{} : power_is_off("sync directory", path);
}

FileResult<std::unique_ptr<Directory>> SimFiles::open_directory(const std::string& path) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("open directory", path, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (*verdict == Verdict::crash) {
        return power_is_off("open directory", path);
    }
    if (chance(rates_.no_handles)) {
        return simulated_error(std::errc::too_many_files_open, "open directory", path);
    }
    if (!is_directory(path)) {
        return simulated_error(std::errc::no_such_file_or_directory, "open directory", path);
    }
    return std::make_unique<SimDirectory>(*this, names_.find(path)->second, path, boot_);
}

FileResult<std::string> SimFiles::absolute(const std::string& path) {
    return path.starts_with('/') ? path : "/" + path;
}

FileResult<std::string> SimFiles::resolve(const std::string& path) {
    auto plain = std::filesystem::path{"/" + path}.lexically_normal().string();
    while (plain.size() > 1 && plain.ends_with('/')) {
        plain.pop_back();
    }
    return plain;
}

FileResult<FileStatus> SimFiles::status(const std::string& path) {
    const MutexLock lock{mutex_};
    const auto verdict = admit("stat", path, rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (*verdict == Verdict::crash) {
        return power_is_off("stat", path);
    }
    const auto found = names_.find(path);
    if (found == names_.end()) {
        return simulated_error(std::errc::no_such_file_or_directory, "stat", path);
    }
    // Two files of one disk never share an address.
    return FileStatus{.device = 1,
                      .number = std::bit_cast<std::uintptr_t>(found->second.get()),
                      .permissions = found->second->directory ? 0700U : 0600U};
}

std::uint64_t SimFiles::calls() const {
    const MutexLock lock{mutex_};
    return calls_;
}

std::uint64_t SimFiles::syncs() const {
    const MutexLock lock{mutex_};
    return syncs_;
}

void SimFiles::crash_at(std::uint64_t call) {
    const MutexLock lock{mutex_};
    crash_at_ = call;
}

void SimFiles::fail_at(std::uint64_t call, std::errc code) {
    const MutexLock lock{mutex_};
    fail_at_ = std::pair{call, code};
}

void SimFiles::set_fault_rates(const FaultRates& rates) {
    const MutexLock lock{mutex_};
    rates_ = rates;
}

void SimFiles::refuse_writes(bool refuse) {
    const MutexLock lock{mutex_};
    refuse_writes_ = refuse;
}

void SimFiles::keep_trace() {
    const MutexLock lock{mutex_};
    trace_.emplace();
}

std::vector<SimFiles::Call> SimFiles::trace() const {
    const MutexLock lock{mutex_};
    return trace_.value_or(std::vector<Call>{});
}

void SimFiles::set_capacity(std::uint64_t bytes) {
    const MutexLock lock{mutex_};
    capacity_ = bytes;
}

bool SimFiles::crashed() const {
    const MutexLock lock{mutex_};
    return crashed_;
}

void SimFiles::restart(Survival survival) {
    const MutexLock lock{mutex_};
    lose_power(survival);
    ++boot_;
    crashed_ = false;
    crash_at_.reset();
    fail_at_.reset();
    rates_ = {};
    refuse_writes_ = false;
}

std::uint64_t SimFiles::used() const {
    const MutexLock lock{mutex_};
    return used_bytes();
}

std::vector<std::string> SimFiles::paths() const {
    const MutexLock lock{mutex_};
    std::vector<std::string> found;
    for (const auto& [path, inode] : names_) {
        if (!inode->directory) {
            found.push_back(path);
        }
    }
    return found;
}

std::string SimFiles::content(const std::string& path) const {
    const MutexLock lock{mutex_};
    const auto found = names_.find(path);
    return found == names_.end() ? std::string{} : found->second->content;
}

void SimFiles::overwrite(const std::string& path, std::string content) {
    const MutexLock lock{mutex_};
    if (const auto found = names_.find(path); found != names_.end()) {
        found->second->content = found->second->durable_content = std::move(content);
        found->second->pending.clear();
    }
}

FileResult<SimFiles::Verdict>
SimFiles::admit(std::string_view call, const std::string& path, unsigned rate) {
    if (crashed_) {
        return power_is_off(call, path);
    }
    const auto number = calls_++;
    if (trace_) {
        trace_->push_back({std::string{call}, path});
    }
    if (crash_at_ && number >= *crash_at_) {
        crashed_ = true;
        return Verdict::crash;
    }
    if (fail_at_ && number == fail_at_->first) {
        return simulated_error(fail_at_->second, call, path);
    }
    if (chance(rate)) {
        return simulated_error(std::errc::io_error, call, path);
    }
    return Verdict::go;
}

FileResult<> SimFiles::require_space(const SimInode& inode, std::uint64_t size) {
    if (size <= inode.content.size()) {
        return {};
    }
    if (used_bytes() + (size - inode.content.size()) > capacity_ || chance(rates_.no_space)) {
        return simulated_error(std::errc::no_space_on_device, "write", "the disk");
    }
    return {};
}

void SimFiles::change_names(NameChange change, Verdict verdict) {
    if (verdict == Verdict::crash && chance(500)) {
        return;
    }
    change.apply(names_);
    pending_names_.push_back(std::move(change));
}

bool SimFiles::is_directory(std::string_view path) const {
    const auto found = names_.find(path);
    return found != names_.end() && found->second->directory;
}

std::uint64_t SimFiles::used_bytes() const {
    std::uint64_t total = 0;
    for (const auto& [path, inode] : names_) {
        total += inode->content.size();
    }
    return total;
}

bool SimFiles::chance(unsigned thousandths) {
    // A chance of zero draws no number: a plan without faults uses up no randomness.
    return thousandths > 0 && random_() % 1000 < thousandths;
}

void SimFiles::lose_power(Survival survival) {
    for (const auto& [path, inode] : names_) {
        inode->locked = false;
    }
    if (survival == Survival::everything) {
        return; // the system still has all changes; a later power loss may drop them
    }
    const auto keep_name =
        survival == Survival::nothing ? 0U : 250 * static_cast<unsigned>(random_() % 5);
    for (const auto& change : pending_names_) {
        if (chance(keep_name)) {
            change.apply(durable_names_);
        }
    }
    pending_names_.clear();
    // A name without its directory cannot be found: the directory itself was never synced.
    for (auto at = durable_names_.begin(); at != durable_names_.end();) {
        const bool lost = at->first != "/" && !durable_names_.contains(parent_path(at->first));
        at = lost ? durable_names_.erase(at) : std::next(at);
    }
    names_ = durable_names_;

    std::set<SimInode*> seen; // a file may have two names after a rename that survived in part
    for (const auto& [path, inode] : names_) {
        if (!seen.insert(inode.get()).second) {
            continue;
        }
        if (survival == Survival::some) {
            inode->make_partly_durable(random_);
        }
        inode->content = inode->durable_content;
        inode->pending.clear();
    }
}

} // namespace durable::simulation
