#include "providers/fs/files/store_files.hpp"

#include <utility>

namespace durable::fs {

namespace {

// The result of `call`, unless `looked` is an error.
template <class Call>
auto then(FileResult<> looked, const Call& call) -> decltype(call()) {
    if (!looked) {
        return std::unexpected{std::move(looked).error()};
    }
    return call();
}

} // namespace

FileResult<std::unique_ptr<File>> StoreFiles::open(const std::string& path, OpenMode mode) {
    return then(look(), [&] { return files_.open(path, mode); });
}

FileResult<> StoreFiles::make_directory(const std::string& path) {
    return then(look(), [&] { return files_.make_directory(path); });
}

FileResult<> StoreFiles::rename(const std::string& from, const std::string& to) {
    return then(look(), [&] { return files_.rename(from, to); });
}

FileResult<> StoreFiles::remove(const std::string& path) {
    return then(look(), [&] { return files_.remove(path); });
}

FileResult<> StoreFiles::remove_directory(const std::string& path) {
    return then(look(), [&] { return files_.remove_directory(path); });
}

FileResult<std::vector<DirectoryEntry>> StoreFiles::list(const std::string& directory) {
    return then(look(), [&] { return files_.list(directory); });
}

FileResult<> StoreFiles::sync_directory(const std::string& path) {
    return then(look(), [&] { return files_.sync_directory(path); });
}

FileResult<std::unique_ptr<Directory>> StoreFiles::open_directory(const std::string& path) {
    return then(look(), [&] { return files_.open_directory(path); });
}

FileResult<std::string> StoreFiles::absolute(const std::string& path) {
    return files_.absolute(path);
}

FileResult<std::string> StoreFiles::resolve(const std::string& path) {
    return files_.resolve(path);
}

FileResult<FileStatus> StoreFiles::status(const std::string& path) {
    return then(look(), [&] { return files_.status(path); });
}

FileResult<> StoreFiles::look() {
    if (!home_.here()) {
        return std::unexpected{FileError{.code = std::errc::operation_not_permitted,
                                         .text = "the store " + path_ +
                                                 " is open in the process that this one was "
                                                 "forked from"}};
    }
    if (lost_.load()) { // for good, also if it came back: it may have changed meanwhile
        return std::unexpected{lost_error()};
    }
    const auto there = directory_->still_there();
    if (!there) {
        return std::unexpected{there.error()};
    }
    if (*there) {
        return {};
    }
    if (!lost_.exchange(true) && tell_) {
        tell_(lost_error());
    }
    return std::unexpected{lost_error()};
}

FileError StoreFiles::lost_error() const {
    return {.code = std::errc::no_such_device_or_address,
            .text = "the directory " + path_ +
                    " was moved or replaced while the store was open; reopen it"};
}

} // namespace durable::fs
