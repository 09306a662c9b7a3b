// StoreFiles: the files of one store, as long as its directory is where it was when it was opened.
//
// Paths are names, and somebody may move the directory and put another one in its place. So it
// looks before each call that goes by a path: a new segment must not turn up in another store. What
// is open already goes on where it is. Looking costs one system call or two; commits make none.

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

    // Called once, when the directory turns out to be lost, by whoever finds that: every call fails
    // from then on. Set before threads share this.
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

    const HomeProcess home_; // a child made by fork has its files in common with it
    Files& files_;
    const std::unique_ptr<Directory> directory_; // open, so that no other one gets its number
    const std::string path_;
    std::function<void(const FileError&)> tell_;
    std::atomic<bool> lost_{false};
};

} // namespace durable::fs
