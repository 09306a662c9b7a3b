#include "providers/sqlite/store_file.hpp"

#include "base/files.hpp"

#include <cerrno>

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

int why_not_made(const std::string& path) {
    const std::string directory{parent_path(path)};
    return ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

} // namespace durable::sqlite
