// A directory of its own for a test, removed with everything in it.

#pragma once

#include "base/files.hpp"

#include <cstdlib>
#include <string>

namespace durable {

class TemporaryDirectory {
 public:
    TemporaryDirectory() {
        const char* base = std::getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): read only
        path_ = std::string{base == nullptr ? "/tmp" : base} + "/durable-test-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) {
            std::abort();
        }
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() {
        if (!kept_) {
            (void)remove_tree(system_files(), path_);
        }
    }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    // Keeps the directory, for a person to look at; answers its path.
    const std::string& keep() noexcept {
        kept_ = true;
        return path_;
    }

 private:
    std::string path_;
    bool kept_ = false;
};

} // namespace durable
