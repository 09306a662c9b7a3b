// What is left of the disk: a choice among its changes, and the directory made of it.

#include "base/files.hpp"
#include "base/random.hpp"
#include "power_cut/disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace durable::power_cut {

namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error{errno, std::generic_category(), what};
}

bool heads(Random& random, unsigned chance) {
    return random.next() % 100 < chance;
}

bool all_zero(std::string_view bytes) {
    return bytes.empty() || (bytes.front() == '\0' &&
                             std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Zeros are left out: most of a store is space that waits to be written.
void write_file(const std::string& path, std::string_view content) {
    constexpr std::size_t piece = 1U << 16U;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(content.size())) != 0) {
        fail(path);
    }
    for (std::size_t at = 0; at < content.size(); at += piece) {
        const auto bytes = content.substr(at, piece);
        if (!all_zero(bytes) && ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)) !=
                                    static_cast<ssize_t>(bytes.size())) {
            fail(path);
        }
    }
    ::close(fd);
}

std::string garbage(std::size_t size, std::uint64_t seed) {
    SeededRandom random{seed};
    std::string made(size, '\0');
    for (auto& byte : made) {
        byte = static_cast<char>(random.next());
    }
    return made;
}

} // namespace

Disk::Tree Disk::surviving_names(const Survival& survival) const {
    Tree tree;
    for (Number number = 0; number < nodes_.size(); ++number) {
        if (nodes_[number].is_directory) {
            tree[number] = nodes_[number].names;
        }
    }
    SeededRandom random{survival.seed};
    for (const auto& change : name_changes_) {
        bool kept = false;
        switch (survival.names) {
        case Names::none:
            break;
        case Names::all:
            kept = true;
            break;
        case Names::any:
            kept = heads(random, survival.chance);
            break;
        case Names::journal:
            kept = change.position < std::max(newest_sync_, survival.moment);
            break;
        }
        if (!kept) {
            continue;
        }
        if (change.from) {
            tree[change.from->first].erase(change.from->second);
        }
        if (change.node) {
            tree[change.directory][change.name] = *change.node;
        } else {
            tree[change.directory].erase(change.name);
        }
    }
    return tree;
}

std::string Disk::surviving_content(Number number, const Survival& survival) const {
    const auto& node = nodes_[number];
    const auto& changes = node.changes;
    SeededRandom random{survival.seed + number};

    // How many changes of the size there are: at least up to those that were durable at once.
    std::size_t least = 0;
    std::uint64_t longest = node.content.size();
    for (std::size_t index = 0; index < changes.size(); ++index) {
        least = changes[index].durable ? index + 1 : least;
        longest = std::max(longest, changes[index].end());
    }
    auto sized = survival.sizes == Sizes::all ? changes.size() : least;
    if (survival.sizes == Sizes::some) {
        sized = least + random.next() % (changes.size() - least + 1);
    }

    // For each sector the last change that reached it, counted from 1. A sector that was cut off
    // is not written again before the disk knows that it was.
    std::vector<std::size_t> reached((longest + sector_size - 1) / sector_size);
    std::uint64_t usable = longest;
    for (std::size_t index = 0; index < changes.size(); ++index) {
        const auto& change = changes[index];
        if (change.kind == Change::Kind::resize && index >= sized) {
            usable = std::min(usable, change.size);
        }
        if (change.kind != Change::Kind::write) {
            continue;
        }
        const bool kept = heads(random, survival.chance);
        for (auto sector = change.offset / sector_size; sector * sector_size < change.end();
             ++sector) {
            bool here = change.durable;
            switch (survival.data) {
            case Data::none:
                break;
            case Data::all:
                here = true;
                break;
            case Data::before:
                here = here || change.position < survival.moment ||
                       (change.position == survival.moment && heads(random, survival.chance));
                break;
            case Data::since:
                here = here || change.position >= survival.moment;
                break;
            case Data::writes:
                here = here || kept;
                break;
            case Data::sectors:
                here = here || heads(random, survival.chance);
                break;
            }
            if (here && sector * sector_size < usable) {
                reached[sector] = index + 1;
            }
        }
    }

    std::string content = node.content;
    std::uint64_t size = content.size();
    for (std::size_t index = 0; index < changes.size(); ++index) {
        const auto& change = changes[index];
        if (change.kind == Change::Kind::resize) {
            if (index < sized) {
                size = change.size;
                content.resize(size);
            }
            continue;
        }
        if (index < sized) {
            size = std::max(size, change.end());
        } else if (index == sized && survival.sizes == Sizes::some && change.end() > size) {
            const auto sectors = (change.end() - size) / sector_size;
            size += sectors == 0 ? 0 : random.next() % sectors * sector_size;
        }
        if (change.kind != Change::Kind::write) {
            continue;
        }
        content.resize(std::max<std::size_t>(content.size(), change.end()));
        for (auto at = change.offset; at < change.end();) {
            const auto end = std::min(change.end(), (at / sector_size + 1) * sector_size);
            if (reached[at / sector_size] > index) {
                if (change.bytes == nullptr) {
                    std::memset(content.data() + at, 0, end - at);
                } else {
                    std::memcpy(content.data() + at, change.bytes + (at - change.offset), end - at);
                }
            }
            at = end;
        }
    }
    content.resize(size);
    return content;
}

void Disk::leave(const std::string& directory, const Survival& survival) const {
    const auto tree = surviving_names(survival);
    std::map<Number, std::string> made; // of files
    const auto make = [&](const auto& self, Number number, const std::string& path) -> void {
        if (::mkdir(path.c_str(), 0700) != 0) {
            fail(path);
        }
        for (const auto& [name, node] : tree.at(number)) {
            const auto below = path + "/" + name;
            if (nodes_[node].is_directory) {
                self(self, node, below);
            } else if (const auto [found, first] = made.emplace(node, below); !first) {
                if (::link(found->second.c_str(), below.c_str()) != 0) {
                    fail(below);
                }
            } else if (!nodes_[node].mapped) {
                write_file(below, surviving_content(node, survival));
            } else if (below.ends_with("-shm")) { // SQLite's: made anew after a crash
                write_file(below,
                           survival.spoiled_maps ? garbage(nodes_[node].size, survival.seed) : "");
            } else {
                throw std::runtime_error{below + " was written through memory: no trace of that"};
            }
        }
    };
    make(make, 0, directory);
}

std::optional<std::string> Disk::difference(const std::string& directory) const {
    constexpr Survival everything{.data = Data::all, .sizes = Sizes::all, .names = Names::all};
    const auto tree = surviving_names(everything);
    const auto compare = [&](const auto& self,
                             Number number,
                             const std::string& path) -> std::optional<std::string> {
        const auto listed = system_files().list(path);
        if (!listed) {
            return listed.error().text;
        }
        const auto& names = tree.at(number);
        for (const auto& entry : *listed) {
            const auto below = path + "/" + entry.name;
            const auto found = names.find(entry.name);
            if (found == names.end()) {
                return below + " is not in the trace";
            }
            const auto& node = nodes_[found->second];
            if (node.is_directory) {
                if (auto differs = self(self, found->second, below)) {
                    return differs;
                }
            } else if (!node.mapped && read_file(system_files(), below) !=
                                           surviving_content(found->second, everything)) {
                return below + " has other bytes than the trace";
            }
        }
        return names.size() == listed->size()
                   ? std::nullopt
                   : std::optional{path + " lacks names that the trace has"};
    };
    return compare(compare, 0, directory);
}

} // namespace durable::power_cut
