// The file behind a path: identity, links, permissions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace durable::sqlite {

// Unique as long as the file is open in any process.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t number = 0;

    bool operator==(const FileId&) const = default;
};

struct StoreFile {
    FileId id;
    std::uint64_t names = 1; // hard links
};

// nullopt: there is no file, or the system does not describe it.
[[nodiscard]] std::optional<StoreFile> find_file(const std::string& path);

// Makes an empty file with these permissions, whatever the umask, where there is none. The path may
// be a symbolic link. Failures are not reported: opening the file then fails as well.
void make_file(const std::string& path, std::uint32_t permissions);

// The permissions of a file; nullopt: there is none.
[[nodiscard]] std::optional<std::uint32_t> permissions_of(const std::string& path);

// The errno why no file can be made there; 0: one can.
[[nodiscard]] int why_not_made(const std::string& path);

} // namespace durable::sqlite
