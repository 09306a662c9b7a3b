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

// How kind this crash is: rolled once per crash, so that some lose everything and some only a bit.
struct Mood {
    unsigned drop = 0; // thousandths
    unsigned tear = 0;
    unsigned garble = 0;
};

Mood roll_mood(std::mt19937_64& random) {
    static constexpr Mood moods[] = {
        {0, 0, 0}, {1000, 0, 0}, {500, 0, 0}, {500, 300, 0}, {300, 200, 300}, {50, 20, 10}};
    return moods[random() % std::size(moods)];
}

// What a disk has of a file whose bytes and size reach it each in their own time.
void apply_damaged(std::string& content,
                   const SimInode::Change& change,
                   const Mood& mood,
                   std::mt19937_64& random) {
    const auto roll = [&](unsigned thousandths) { return random() % 1000 < thousandths; };
    if (change.new_size) {
        // Growing is left to the size that survives; what was cut off may still be there.
        if (*change.new_size < content.size() && !roll(mood.drop)) {
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
        if (roll(mood.drop)) {
            continue;
        }
        if (roll(mood.tear)) {
            piece.resize(random() % (piece.size() + 1));
        }
        if (roll(mood.garble)) {
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

// Sizes reach the disk in their order, but not each as a whole: the one that survives is any that
// the file had since the last sync, or any between two of them.
std::uint64_t surviving_size(std::uint64_t durable,
                             const std::vector<SimInode::Change>& changes,
                             const Mood& mood,
                             std::mt19937_64& random) {
    std::vector<std::uint64_t> sizes{durable};
    for (const auto& change : changes) {
        sizes.push_back(size_after(sizes.back(), change));
    }
    if (mood.drop == 0) {
        return sizes.back();
    }
    if (mood.drop == 1000) {
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

void SimInode::settle() {
    for (const auto& each : pending) {
        make_change(durable_content, each);
    }
    pending.clear();
}

void SimInode::settle_damaged(std::mt19937_64& random) {
    const Mood mood = roll_mood(random);
    const auto size = surviving_size(durable_content.size(), pending, mood, random);
    for (const auto& each : pending) {
        apply_damaged(durable_content, each, mood, random);
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
