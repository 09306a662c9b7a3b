#include "providers/fs/store_directory.hpp"

#include "base/crc32c.hpp"
#include "base/process.hpp"
#include "base/try.hpp"
#include "model/json_reader.hpp"
#include "providers/fs/fs_error.hpp"

#include <algorithm>
#include <array>

namespace durable::fs {

namespace {

constexpr std::string_view lock_name = "runtime.lock";

bool is_missing(const FileError& error) {
    return error.code == std::errc::no_such_file_or_directory;
}

Result<> lock_now(Files& files, const std::string& directory, File& file) {
    DURABLE_TRY_ASSIGN(const bool taken, to_result(file.try_lock()));
    if (!taken) {
        // The holder wrote its number a moment after it took the lock: the file may be empty.
        std::string holder = read_file(files, StoreLayout{directory}.lock()).value_or("");
        holder = holder.substr(0, holder.find('\n'));
        return fail(ErrorCode::unavailable,
                    "the store " + directory + " is in use by process " +
                        (holder.empty() ? "(unknown)" : holder));
    }
    return {};
}

Result<std::unique_ptr<File>> take_lock(Files& files, const std::string& directory) {
    DURABLE_TRY_ASSIGN(
        auto file, to_result(files.open(StoreLayout{directory}.lock(), OpenMode::write_or_create)));
    DURABLE_TRY(lock_now(files, directory, *file));
    // Never removed: a lock on a file without a name would exclude nobody.
    DURABLE_TRY(to_result(file->truncate(0)));
    DURABLE_TRY(to_result(write_at(*file, std::to_string(process_id()) + "\n", 0)));
    return file;
}

// Refuses a directory that holds something else than a store: a typing mistake must not scatter
// files over it.
Result<> make_format(Files& files, const std::string& directory) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(directory)));
    const auto foreign = std::ranges::find_if(entries, [](const DirectoryEntry& entry) {
        return entry.name != lock_name && !entry.name.starts_with("FORMAT.tmp.");
    });
    if (foreign != entries.end()) {
        return fail(ErrorCode::invalid_argument,
                    directory + " is not a store: it has no FORMAT file, but it has " +
                        foreign->name);
    }
    return write_format(files, directory);
}

Result<> remove_temporary(Files& files, const std::string& directory) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(directory)));
    for (const auto& entry : entries) {
        if (!entry.is_directory && entry.name.find(".tmp.") != std::string::npos) {
            DURABLE_TRY(to_result(files.remove(directory + "/" + entry.name)));
        }
    }
    return {};
}

} // namespace

Result<StoreDirectory> StoreDirectory::open(Files& files, const std::string& path) {
    if (path.empty()) {
        return fail(ErrorCode::invalid_argument, "the path of the store is empty");
    }
    DURABLE_TRY(to_result(make_directories(files, path)));
    DURABLE_TRY_ASSIGN(auto lock, take_lock(files, path));
    StoreDirectory store{path, std::move(lock)};
    auto known = check_format(files, path);
    if (!known && known.error().code == ErrorCode::not_found) {
        known = make_format(files, path);
    }
    DURABLE_TRY(std::move(known));
    DURABLE_TRY(remove_temporary(files, path));
    for (const auto& directory : {store.journal(),
                                  store.checkpoint(),
                                  store.packs(),
                                  store.instances(),
                                  store.quarantine()}) {
        DURABLE_TRY(to_result(files.make_directory(directory)));
        DURABLE_TRY(remove_temporary(files, directory));
    }
    DURABLE_TRY(to_result(files.sync_directory(path)));
    return store;
}

Result<std::unique_ptr<File>> lock_for_reading(Files& files, const std::string& path) {
    auto file = files.open(StoreLayout{path}.lock(), OpenMode::read);
    if (!file) {
        return is_missing(file.error()) ? Result<std::unique_ptr<File>>{nullptr}
                                        : std::unexpected{to_error(std::move(file).error())};
    }
    DURABLE_TRY(lock_now(files, path, **file));
    return *std::move(file);
}

Result<> write_format(Files& files, const std::string& path) {
    return to_result(replace_file(files,
                                  StoreLayout{path}.format(),
                                  "{\"format\":" + std::to_string(format_version) + "}\n"));
}

Result<> check_format(Files& files, const std::string& path) {
    const auto name = StoreLayout{path}.format();
    const auto text = read_file(files, name);
    if (!text) {
        return is_missing(text.error()) ? fail(ErrorCode::not_found, path + " has no FORMAT file")
                                        : Result<>{std::unexpected{to_error(text.error())}};
    }
    wire::JsonReader in{*text};
    std::uint64_t format = 0;
    in.object([&](const wire::JsonName& member) {
        if (member.text == "format") {
            in.number(format);
        } else {
            (void)in.skip();
        }
    });
    in.finish();
    if (in.failed() || format == 0) {
        return fail(ErrorCode::corrupt, name + " does not say a format: " + in.failure());
    }
    if (format > format_version) {
        return fail(ErrorCode::unsupported,
                    name + " says format " + std::to_string(format) +
                        ", this version knows up to " + std::to_string(format_version));
    }
    return {};
}

std::string encode_id(std::string_view id) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::size_t longest = 200;
    std::string encoded;
    for (const char c : id) {
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += digits[byte >> 4U];
        encoded += digits[byte & 0xFU];
    }
    if (encoded.empty()) {
        return "%"; // the encoding of no character
    }
    if (encoded.size() <= longest) {
        return encoded;
    }
    // FNV-1a and CRC together: 96 bits. '~' never stands in a short name.
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : id) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    encoded.resize(longest - 25);
    encoded += '~';
    for (int shift = 60; shift >= 0; shift -= 4) {
        encoded += digits[(hash >> shift) & 0xFU];
    }
    const auto checksum = crc32c(id);
    for (int shift = 28; shift >= 0; shift -= 4) {
        encoded += digits[(checksum >> shift) & 0xFU];
    }
    return encoded;
}

} // namespace durable::fs
