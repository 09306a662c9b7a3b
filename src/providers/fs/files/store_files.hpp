// StoreFiles: the files of one store, as long as its directory is where it was when it was opened.
//
// Another program may move the directory and put another one in its place. So each call with a path
// first checks the directory: a new segment must not end up in another store. Files that are open
// stay usable. The check costs one or two system calls; commits make none.

#pragma once

#include "base/files.hpp"
#include "base/process.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace durable::fs {

class StoreFiles final : public Files {
 public:
    StoreFiles(Files& files, std::unique_ptr<Directory> directory, std::string path)
        : files_{files}, directory_{std::move(directory)}, path_{std::move(path)} {}

    // Called once, on the thread whose call finds that the directory is lost; every call fails from
    // then on. Set before threads share this object.
    void when_lost(std::function<void(const FileError&)> tell) { tell_ = std::move(tell); }

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
    FileResult<> make_directory(const std::string& path) override;
    FileResult<> rename(const std::string& from, const std::string& to) override;
    FileResult<> remove(const std::string& path) override;
    FileResult<> remove_directory(const std::string& path) override;
    FileResult<std::vector<DirectoryEntry>> list(const std::string& directory) override;
    FileResult<> sync_directory(const std::string& path) override;
    FileResult<std::unique_ptr<Directory>> open_directory(const std::string& path) override;
    FileResult<std::string> absolute(const std::string& path) override;
    FileResult<std::string> resolve(const std::string& path) override;
    FileResult<FileStatus> status(const std::string& path) override;

 private:
    [[nodiscard]] FileResult<> look();
    [[nodiscard]] FileError lost_error() const;

    const HomeProcess home_; // a forked child shares its files with this process
    Files& files_;
    const std::unique_ptr<Directory> directory_; // open, so that its inode number is not reused
    const std::string path_;
    std::function<void(const FileError&)> tell_;
    std::atomic<bool> lost_{false};
};

} // namespace durable::fs
