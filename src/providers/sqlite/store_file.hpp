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

// Why no file can be made there, an errno; 0: nothing speaks against it.
[[nodiscard]] int why_not_made(const std::string& path);

} // namespace durable::sqlite
