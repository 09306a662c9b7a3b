// What the system knows of the file behind a path.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace durable::sqlite {

// Nobody else has the same one while somebody has the file open.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t number = 0;

    bool operator==(const FileId&) const = default;
};

struct StoreFile {
    FileId id;
    std::uint64_t names = 1; // hard links
};

// nullopt: there is none, or nothing can be told about it.
[[nodiscard]] std::optional<StoreFile> find_file(const std::string& path);

// Makes an empty file with these permissions, whatever the umask, where there is none. It may be
// named by a symbolic link. What goes wrong here will be told by the one who opens the file.
void make_file(const std::string& path, std::uint32_t permissions);

// The permissions of a file; nullopt: there is none.
[[nodiscard]] std::optional<std::uint32_t> permissions_of(const std::string& path);

// Why no file can be made there, an errno; 0: nothing speaks against it.
[[nodiscard]] int why_not_made(const std::string& path);

} // namespace durable::sqlite
