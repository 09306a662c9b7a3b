#include "base/files.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace durable {

bool FileError::out_of_resources() const noexcept {
    switch (code) {
    case std::errc::no_space_on_device:
    case std::errc::too_many_files_open:
    case std::errc::too_many_files_open_in_system:
    case std::errc::not_enough_memory:
    case std::errc::file_too_large:
        return true;
    default:
        return code == std::errc{EDQUOT};
    }
}

FileResult<> write_at(File& file, std::string_view bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const auto written = file.write_some_at(bytes, offset);
        if (!written) {
            return std::unexpected{written.error()};
        }
        if (*written == 0) {
            return std::unexpected{FileError{std::errc::io_error, "write: no progress"}};
        }
        bytes.remove_prefix(*written);
        offset += *written;
    }
    return {};
}

FileResult<std::size_t> read_at(File& file, std::span<char> into, std::uint64_t offset) {
    std::size_t total = 0;
    while (total < into.size()) {
        const auto got = file.read_some_at(into.subspan(total), offset + total);
        if (!got) {
            return std::unexpected{got.error()};
        }
        if (*got == 0) {
            break;
        }
        total += *got;
    }
    return total;
}

FileResult<std::string> read_file(Files& files, const std::string& path) {
    auto file = files.open(path, OpenMode::read);
    if (!file) {
        return std::unexpected{std::move(file).error()};
    }
    const auto size = (*file)->size();
    if (!size) {
        return std::unexpected{size.error()};
    }
    std::string content(*size, '\0');
    const auto got = read_at(**file, content, 0);
    if (!got) {
        return std::unexpected{got.error()};
    }
    content.resize(*got);
    return content;
}

FileResult<> replace_file(Files& files, const std::string& path, std::string_view content) {
    // Unique, so that two threads that replace the same file do not share a temporary one.
    static std::atomic<std::uint64_t> counter{0};
    const std::string temporary = path + ".tmp." + std::to_string(++counter);
    // A crash may have left a file of that name.
    if (auto gone = files.remove(temporary);
        !gone && gone.error().code != std::errc::no_such_file_or_directory) {
        return gone;
    }
    auto file = files.open(temporary, OpenMode::create);
    if (!file) {
        return std::unexpected{std::move(file).error()};
    }
    auto done = write_at(**file, content, 0);
    if (done) {
        done = (*file)->sync();
    }
    file->reset();
    if (done) {
        done = files.rename(temporary, path);
    }
    if (!done) {
        (void)files.remove(temporary); // the first error is the one to report
        return done;
    }
    return files.sync_directory(std::string{parent_path(path)});
}

FileResult<> remove_gradually(Files& files, const std::string& path) {
    constexpr std::uint64_t step = 1U << 22U;
    // When a step fails, the file is removed at once instead.
    if (const auto file = files.open(path, OpenMode::write)) {
        auto left = (*file)->size().value_or(0);
        while (left > step) {
            left -= step;
            if (!(*file)->truncate(left)) {
                break;
            }
        }
    }
    return files.remove(path);
}

FileResult<> make_directories(Files& files, const std::string& path) {
    auto made = files.make_directory(path);
    if (!made && made.error().code == std::errc::no_such_file_or_directory &&
        parent_path(path) != path) {
        if (auto parent = make_directories(files, std::string{parent_path(path)}); !parent) {
            return parent;
        }
        made = files.make_directory(path);
    }
    if (!made) {
        return made;
    }
    return files.sync_directory(std::string{parent_path(path)});
}

FileResult<> remove_tree(Files& files, const std::string& path) {
    // Removes anything but a directory, also a link to one.
    const auto gone = files.remove(path);
    if (gone || gone.error().code == std::errc::no_such_file_or_directory) {
        return {};
    }
    if (gone.error().code != std::errc::is_a_directory &&
        gone.error().code != std::errc::operation_not_permitted) {
        return gone;
    }
    const auto entries = files.list(path);
    if (!entries) {
        return entries.error().code == std::errc::no_such_file_or_directory
                   ? FileResult<>{}
                   : std::unexpected{entries.error()};
    }
    for (const auto& entry : *entries) {
        const std::string below = path + "/" + entry.name;
        if (auto gone = entry.is_directory ? remove_tree(files, below) : files.remove(below);
            !gone) {
            return gone;
        }
    }
    return files.remove_directory(path);
}

FileResult<bool> lies_within(Files& files, const std::string& path, const std::string& directory) {
    const auto home = files.status(directory);
    if (!home) {
        return std::unexpected{home.error()};
    }
    auto resolved = files.resolve(path);
    if (!resolved) {
        return std::unexpected{std::move(resolved).error()};
    }
    for (std::string at = *std::move(resolved);; at = std::string{parent_path(at)}) {
        const auto found = files.status(at);
        if (found && found->same_as(*home)) {
            return true;
        }
        if (!found && found.error().code != std::errc::no_such_file_or_directory &&
            found.error().code != std::errc::not_a_directory) {
            return std::unexpected{found.error()};
        }
        if (parent_path(at) == at) {
            return false;
        }
    }
}

std::string_view parent_path(std::string_view path) noexcept {
    const auto slash = path.find_last_of('/');
    if (slash == std::string_view::npos) {
        return ".";
    }
    return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

} // namespace durable
