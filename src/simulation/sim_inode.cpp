#include "simulation/sim_inode.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace durable::simulation {

namespace {

constexpr std::size_t sector = 512;

void put(std::string& content, std::uint64_t offset, std::string_view bytes) {
    if (content.size() < offset + bytes.size()) {
        content.resize(offset + bytes.size(), '\0');
    }
    std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
}

void make_change(std::string& content, const SimInode::Change& change) {
    if (change.new_size) {
        content.resize(*change.new_size, '\0');
    } else {
        put(content, change.offset, change.bytes);
    }
}

// How much a crash damages: drawn once per crash, so that some lose everything and some only a bit.
struct Severity {
    unsigned drop = 0; // thousandths
    unsigned tear = 0;
    unsigned garble = 0;
};

Severity roll_severity(std::mt19937_64& random) {
    static constexpr Severity severities[] = {
        {0, 0, 0}, {1000, 0, 0}, {500, 0, 0}, {500, 300, 0}, {300, 200, 300}, {50, 20, 10}};
    return severities[random() % std::size(severities)];
}

// Applies a part of the change: bytes and size reach the disk independently.
void apply_damaged(std::string& content,
                   const SimInode::Change& change,
                   const Severity& severity,
                   std::mt19937_64& random) {
    const auto roll = [&](unsigned thousandths) { return random() % 1000 < thousandths; };
    if (change.new_size) {
        // surviving_size() decides about growth; bytes that were cut off may still be there.
        if (*change.new_size < content.size() && !roll(severity.drop)) {
            content.resize(*change.new_size);
        }
        return;
    }
    for (std::size_t at = 0; at < change.bytes.size();) {
        const auto offset = change.offset + at;
        const auto length =
            std::min<std::size_t>(sector - offset % sector, change.bytes.size() - at);
        std::string piece = change.bytes.substr(at, length);
        at += length;
        if (roll(severity.drop)) {
            continue;
        }
        if (roll(severity.tear)) {
            piece.resize(random() % (piece.size() + 1));
        }
        if (roll(severity.garble)) {
            for (char& byte : piece) {
                byte = static_cast<char>(random());
            }
        }
        put(content, offset, piece);
    }
}

std::uint64_t size_after(std::uint64_t size, const SimInode::Change& change) {
    return change.new_size.value_or(std::max(size, change.offset + change.bytes.size()));
}

// Sizes reach the disk in their order, but may be torn: the surviving one is any that the file had
// since the last sync, or any between two of those.
std::uint64_t surviving_size(std::uint64_t durable,
                             const std::vector<SimInode::Change>& changes,
                             const Severity& severity,
                             std::mt19937_64& random) {
    std::vector<std::uint64_t> sizes{durable};
    for (const auto& change : changes) {
        sizes.push_back(size_after(sizes.back(), change));
    }
    if (severity.drop == 0) {
        return sizes.back();
    }
    if (severity.drop == 1000) {
        return durable;
    }
    const auto at = random() % sizes.size();
    if (at + 1 == sizes.size() || random() % 2 == 0) {
        return sizes[at];
    }
    const auto [low, high] = std::minmax(sizes[at], sizes[at + 1]);
    return low + random() % (high - low + 1);
}

} // namespace

void SimInode::change(Change change) {
    make_change(content, change);
    pending.push_back(std::move(change));
}

void SimInode::make_durable() {
    for (const auto& each : pending) {
        make_change(durable_content, each);
    }
    pending.clear();
}

void SimInode::make_partly_durable(std::mt19937_64& random) {
    const Severity severity = roll_severity(random);
    const auto size = surviving_size(durable_content.size(), pending, severity, random);
    for (const auto& each : pending) {
        apply_damaged(durable_content, each, severity, random);
    }
    durable_content.resize(size, '\0');
    pending.clear();
}

std::unexpected<FileError>
simulated_error(std::errc code, std::string_view call, std::string_view path) {
    std::string text{call};
    text += ' ';
    text += path;
    text += ": ";
    text += std::make_error_code(code).message();
    return std::unexpected{FileError{code, std::move(text)}};
}

std::unexpected<FileError> power_is_off(std::string_view call, std::string_view path) {
    return std::unexpected{
        FileError{std::errc::no_such_device,
                  std::string{call} + ' ' + std::string{path} + ": the simulated power is off"}};
}

} // namespace durable::simulation
