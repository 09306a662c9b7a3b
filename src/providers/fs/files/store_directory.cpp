#include "providers/fs/files/store_directory.hpp"

#include "base/crc32c.hpp"
#include "base/process.hpp"
#include "base/stay_awake.hpp"
#include "base/try.hpp"
#include "model/json_reader.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_parts.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace durable::fs {

namespace {

constexpr std::string_view lock_name = "runtime.lock";

bool is_missing(const FileError& error) {
    return error.code == std::errc::no_such_file_or_directory;
}

// The process that has the store writes its number a moment after it took the locks: until then the
// file may be missing or empty.
FileResult<std::string> read_holder(Files& files, const std::string& directory) {
    constexpr std::chrono::milliseconds longest{20};
    const auto said = [&] {
        const auto holder = read_file(files, StoreLayout{directory}.lock());
        return holder && !holder->empty();
    };
    (void)stay_awake_until(said, {.longest = longest, .others_run = longest});
    return read_file(files, StoreLayout{directory}.lock());
}

std::unexpected<Error> in_use(Files& files, const std::string& directory) {
    const auto holder = read_holder(files, directory);
    std::string message = "the store " + directory + " is in use by process ";
    if (holder && !holder->empty()) {
        message += holder->substr(0, holder->find('\n'));
    } else {
        message += "(unknown)";
    }
    if (!holder && is_missing(holder.error())) {
        message += "; its runtime.lock was removed, which must not be done while it is open";
    }
    return fail(ErrorCode::unavailable, std::move(message));
}

// Network file systems that emulate these locks need a file that is open for writing.
bool has_no_directory_locks(const FileError& error) {
    return error.code == std::errc::bad_file_descriptor ||
           error.code == std::errc::invalid_argument ||
           error.code == std::errc::function_not_supported ||
           error.code == std::errc::operation_not_supported;
}

Result<> lock_directory(Files& files, const std::string& path, Directory& directory) {
    auto taken = directory.try_lock();
    if (!taken && has_no_directory_locks(taken.error())) {
        return {}; // the lock of runtime.lock remains
    }
    DURABLE_TRY_ASSIGN(const bool mine, to_result(std::move(taken)));
    return mine ? Result<>{} : in_use(files, path);
}

Result<> lock_file(Files& files, const std::string& path, File& file) {
    DURABLE_TRY_ASSIGN(const bool mine, to_result(file.try_lock()));
    return mine ? Result<>{} : in_use(files, path);
}

Result<StoreLock> take_lock(Files& files, const std::string& path) {
    StoreLock lock;
    DURABLE_TRY_ASSIGN(lock.directory, to_result(files.open_directory(path)));
    DURABLE_TRY(lock_directory(files, path, *lock.directory));
    DURABLE_TRY_ASSIGN(lock.file,
                       to_result(files.open(StoreLayout{path}.lock(), OpenMode::write_or_create)));
    DURABLE_TRY(lock_file(files, path, *lock.file));
    // Never removed: a lock on an unlinked file would exclude no other process.
    DURABLE_TRY(to_result(lock.file->truncate(0)));
    DURABLE_TRY(to_result(write_at(*lock.file, std::to_string(process_id()) + "\n", 0)));
    return lock;
}

// Refuses a directory that holds something else than a store of this version or an unfinished one:
// a mistyped path must not get files of ours. Makes nothing, not even the lock.
Result<> refuse_others(Files& files, const std::string& path) {
    const auto known = [&]() -> Result<> {
        DURABLE_TRY(check_format(files, path));
        return {};
    };
    if (auto format = known(); format || format.error().code != ErrorCode::not_found) {
        return format;
    }
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(path)));
    const auto foreign = std::ranges::find_if(entries, [&](const DirectoryEntry& entry) {
        return entry.name != lock_name && !entry.name.starts_with("FORMAT") &&
               entry.name != "lost+found" && // made by the file system
               !is_empty_part(files, path, entry);
    });
    // Another process may have made it a store just now.
    if (foreign == entries.end() || known()) {
        return {};
    }
    if (is_part(path, *foreign)) {
        return fail(ErrorCode::corrupt,
                    path + " has no FORMAT file, but it has " + foreign->name +
                        ": a store that lost it, or one that was not made to its end; "
                        "durable repair makes a whole one of what is there");
    }
    return fail(ErrorCode::invalid_argument,
                path + " is not a store: it has no FORMAT file, but it has " + foreign->name);
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

Result<StoreDirectory> StoreDirectory::open(Files& disk, const std::string& given) {
    if (given.empty()) {
        return fail(ErrorCode::invalid_argument, "the path of the store is empty");
    }
    if (given.contains('\0')) {
        return fail(ErrorCode::invalid_argument,
                    "the path of the store has a NUL byte, behind " +
                        given.substr(0, given.find('\0')));
    }
    DURABLE_TRY_ASSIGN(const auto path, to_result(disk.absolute(given)));
    DURABLE_TRY(to_result(make_directories(disk, path)));
    DURABLE_TRY(refuse_others(disk, path));
    DURABLE_TRY_ASSIGN(auto lock, take_lock(disk, path));
    StoreDirectory store{disk, path, std::move(lock)};
    auto& files = store.files();
    const auto known = check_format(files, path);
    const bool fresh = !known && known.error().code == ErrorCode::not_found;
    if (!fresh) {
        DURABLE_TRY(known);
        DURABLE_TRY(require_journal(files, path));
    }
    store.gapless_ = fresh || known->gapless;
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
    if (fresh) {
        DURABLE_TRY(write_format(files, path)); // last: from now on a missing part is a loss
    } else if (known->version < format_version) {
        // Before anything is written that an earlier version would not understand.
        DURABLE_TRY(write_format(files, path, known->gapless));
    }
    return store;
}

Result<StoreLock> lock_for_reading(Files& files, const std::string& path) {
    StoreLock lock;
    auto directory = files.open_directory(path);
    if (!directory) {
        return is_missing(directory.error())
                   ? Result<StoreLock>{std::move(lock)}
                   : std::unexpected{to_error(std::move(directory).error())};
    }
    lock.directory = *std::move(directory);
    DURABLE_TRY(lock_directory(files, path, *lock.directory));
    auto file = files.open(StoreLayout{path}.lock(), OpenMode::read);
    if (!file) {
        return is_missing(file.error()) ? Result<StoreLock>{std::move(lock)}
                                        : std::unexpected{to_error(std::move(file).error())};
    }
    lock.file = *std::move(file);
    DURABLE_TRY(lock_file(files, path, *lock.file));
    return lock;
}

Result<std::string> describe_readers(Files& files, const std::string& path, StoreAccess access) {
    constexpr std::uint32_t of_others = 07;
    constexpr std::uint32_t of_group = 070;
    const bool group = access == StoreAccess::group;
    DURABLE_TRY_ASSIGN(const auto status, to_result(files.status(path)));
    const auto more = status.permissions & (group ? of_others : of_others | of_group);
    if (more == 0) {
        return std::string{};
    }
    std::array<char, 3> octal{};
    for (unsigned digit = 0; digit < octal.size(); ++digit) {
        octal[2 - digit] = static_cast<char>('0' + (status.permissions >> (3 * digit) & 7U));
    }
    // One piece after the other: g++ 12 warns of a sum of these strings, wrongly.
    std::string text{(more & of_others) != 0 ? "every user of this machine"
                                             : "the group of the directory"};
    text += " can read the store ";
    text += path;
    text += " or keep it from being opened: its permissions are ";
    text.append(octal.data(), octal.size());
    text += ", and StoreAccess::";
    text += group ? "group means 770" : "owner means 700";
    return text;
}

Result<> write_format(Files& files, const std::string& path, bool gapless) {
    auto text = "{\"format\":" + std::to_string(format_version);
    text += gapless ? ",\"gapless\":true}\n" : "}\n";
    return to_result(replace_file(files, StoreLayout{path}.format(), text));
}

Result<StoreFormat> check_format(Files& files, const std::string& path) {
    const auto name = StoreLayout{path}.format();
    const auto text = read_file(files, name);
    if (!text) {
        return is_missing(text.error()) ? fail(ErrorCode::not_found, path + " has no FORMAT file")
                                        : std::unexpected{to_error(text.error())};
    }
    wire::JsonReader in{*text};
    std::string unknown;
    StoreFormat found{.version = 0, .gapless = false};
    const auto& format = found.version;
    in.object([&](const wire::JsonName& member) {
        if (member.text == "format") {
            in.number(found.version);
        } else if (member.text == "gapless") {
            in.boolean(found.gapless);
        } else {
            unknown = member.text;
            (void)in.skip();
        }
    });
    in.finish();
    const auto damaged = [&](const std::string& why) {
        return fail(ErrorCode::corrupt, name + " does not say a format: " + why);
    };
    if (in.failed() || format == 0) {
        return damaged(in.failed() ? std::string{in.failure()} : "the first one is 1");
    }
    if (format > format_version) {
        return fail(ErrorCode::unsupported,
                    name + " says format " + std::to_string(format) +
                        ", this version knows up to " + std::to_string(format_version));
    }
    if (!unknown.empty()) { // FORMAT has no checksum: an unknown member is damage
        return damaged("unknown member \"" + unknown + "\"");
    }
    return found;
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
