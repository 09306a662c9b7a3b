// Files that hand every call on, for tests that change one of them.

#pragma once

#include "base/files.hpp"

#include <memory>
#include <string>
#include <vector>

namespace durable {

class ForwardingFiles : public Files {
 public:
    explicit ForwardingFiles(Files& files) : files_{files} {}

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        return files_.open(path, mode);
    }
    FileResult<> make_directory(const std::string& path) override {
        return files_.make_directory(path);
    }
    FileResult<> rename(const std::string& from, const std::string& to) override {
        return files_.rename(from, to);
    }
    FileResult<> remove(const std::string& path) override { return files_.remove(path); }
    FileResult<> remove_directory(const std::string& path) override {
        return files_.remove_directory(path);
    }
    FileResult<std::vector<DirectoryEntry>> list(const std::string& directory) override {
        return files_.list(directory);
    }
    FileResult<> sync_directory(const std::string& path) override {
        return files_.sync_directory(path);
    }
    FileResult<std::unique_ptr<Directory>> open_directory(const std::string& path) override {
        return files_.open_directory(path);
    }
    FileResult<std::string> absolute(const std::string& path) override {
        return files_.absolute(path);
    }
    FileResult<std::string> resolve(const std::string& path) override {
        return files_.resolve(path);
    }
    FileResult<FileStatus> status(const std::string& path) override { return files_.status(path); }

 private:
    Files& files_;
};

} // namespace durable
