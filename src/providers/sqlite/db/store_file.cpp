#include "providers/sqlite/db/store_file.hpp"

#include "base/files.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace durable::sqlite {

std::optional<StoreFile> find_file(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) {
        return std::nullopt;
    }
    return StoreFile{.id = {.device = found.st_dev, .number = found.st_ino},
                     .names = S_ISREG(found.st_mode) ? found.st_nlink : 1};
}

// Opens only a new file (O_EXCL). Closing one that this process has open elsewhere would release
// SQLite's locks on it.
void make_file(const std::string& path, std::uint32_t permissions) {
    constexpr int most_links = 40;
    std::filesystem::path name{path};
    for (int links = 0; links < most_links; ++links) {
        const auto made = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
        if (made >= 0) {
            (void)::fchmod(made, permissions);
            ::close(made);
            return;
        }
        std::error_code error;
        const auto target = std::filesystem::read_symlink(name, error);
        if (error) { // there is a file, or none can be made
            return;
        }
        name = name.parent_path() / target;
    }
}

std::optional<std::uint32_t> permissions_of(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) {
        return std::nullopt;
    }
    return found.st_mode & 0777U;
}

int why_not_made(const std::string& path) {
    const std::string directory{parent_path(path)};
    return ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

} // namespace durable::sqlite
