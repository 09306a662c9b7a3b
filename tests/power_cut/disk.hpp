// Disk: what a power cut could leave of a recorded directory.
//
// Takes the records one after the other and knows at each moment what is durable and what is not.
// What is not survives as a Survival says, by sectors of 512 bytes: of the states that a sector has
// had since it was synced, the disk holds any. A sector is never torn, and a file's space that was
// never written reads as zeros. The sizes of one file change in order, those of two files do not.

#pragma once

#include "power_cut/survival.hpp"
#include "power_cut/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace durable::power_cut {

inline constexpr std::uint64_t sector_size = 512;

// For tests of the test: a disk that takes syncs for done without doing anything.
enum class Lies : std::uint8_t {
    none,
    of_files,
    of_directories,
    now_and_then, // one of eight, of whatever
};

class Disk {
 public:
    // What is in that directory now is durable: files and directories, nothing else.
    explicit Disk(const std::string& directory, Lies lies = Lies::none);

    // The next record. Throws std::runtime_error when the trace does not make sense, or has a call
    // that cannot be followed.
    void take(const TraceRecord& record);
    // How many were taken.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

    // Makes the disk that is left, as a directory that must not exist. Throws std::runtime_error.
    void leave(const std::string& directory, const Survival& survival) const;

    // How the directory differs from the trace, when nothing is lost; nullopt: not at all. Files
    // that were mapped into memory are not looked at: of them a trace knows nothing.
    [[nodiscard]] std::optional<std::string> difference(const std::string& directory) const;

 private:
    using Number = std::size_t; // of a node

    struct Change { // of a file, not durable
        std::size_t position = 0;
        enum class Kind : std::uint8_t { write, resize, allocate } kind = Kind::write;
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        const char* bytes = nullptr; // nullptr: zeros
        bool durable = false;        // by O_SYNC or O_DSYNC

        [[nodiscard]] std::uint64_t end() const noexcept { return offset + size; }
    };
    struct Node {
        bool is_directory = false;
        bool mapped = false;
        std::string content;                     // durable
        std::vector<Change> changes;             // not durable
        std::uint64_t size = 0;                  // with all changes
        std::map<std::string, Number> names;     // of a directory: durable
        std::map<std::string, Number> names_now; // with all changes
    };
    struct NameChange { // not durable
        std::size_t position = 0;
        Number directory = 0;
        std::string name;
        std::optional<Number> node; // nullopt: the name goes
        // Of a rename: the old name goes at the same time.
        std::optional<std::pair<Number, std::string>> from{};
    };
    struct OpenFile {
        Number node = 0;
        bool synchronous = false;
    };
    struct Place {
        Number directory = 0;
        std::string name;
    };

    Number load(const std::string& directory);
    Number make_node(bool is_directory);
    [[nodiscard]] Place place_of(std::string_view path) const;
    [[nodiscard]] std::optional<Number> find(std::string_view path) const;
    [[nodiscard]] const OpenFile& opened(const TraceRecord& record) const;
    void open(const TraceRecord& record);
    void change(const TraceRecord& record, Change::Kind kind);
    void add(Node& node, const Change& change);
    void rename(const TraceRecord& record);
    void set_name(std::string_view path, std::optional<Number> node);
    void end_sync(const TraceRecord& record);
    void settle_file(Node& node, std::size_t before) const;
    void settle_names(Number directory, std::size_t before);
    // The names of every directory.
    using Tree = std::map<Number, std::map<std::string, Number>>;
    [[nodiscard]] Tree surviving_names(const Survival& survival) const;
    [[nodiscard]] std::string surviving_content(Number number, const Survival& survival) const;

    Lies lies_;
    std::size_t position_ = 0;
    std::vector<Node> nodes_; // the first is the directory itself
    std::vector<NameChange> name_changes_;
    std::map<std::pair<int, int>, OpenFile> open_files_; // by process and descriptor
    struct Sync {
        Number node = 0;
        std::size_t position = 0;
    };
    std::map<std::pair<int, int>, Sync> syncs_; // under way; by process and thread
    std::size_t newest_sync_ = 0;               // where the latest one that ended began
    std::size_t ended_syncs_ = 0;
};

} // namespace durable::power_cut
