// Directory: files that change as a whole, and several of them all or none.
//
// A change is a list of steps. One whole file is replaced by a rename, which is atomic by itself.
// Anything more is first written down in commit.json: the rename that puts this file in place is
// the moment of commit. The steps then follow, and commit.json goes. A process that dies in between
// leaves commit.json behind, and the next one that opens the directory takes the same steps again:
// each of them says what a file is to be, not how it differs, so twice is as good as once.

#pragma once

#include "files_provider.hpp"

#include <durable/payload.hpp>
#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace files_store {

using namespace durable; // everything here speaks of the contract

// Why a call is not answered. Thrown by every part of this store, and turned into a Result where
// the call came in.
class Refusal final : public std::runtime_error {
 public:
    Refusal(ErrorCode code, const std::string& message)
        : std::runtime_error{message}, code_{code} {}
    [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
    ErrorCode code_;
};

[[noreturn]] inline void refuse(ErrorCode code, const std::string& message) {
    throw Refusal{code, message};
}

struct Step {
    std::string file;                // below the directory
    std::optional<std::string> text; // nullopt: the file, or the whole directory, is removed
    std::optional<std::uint64_t> at; // where the text begins; nullopt: it is the whole file
};
DURABLE_PAYLOAD(Step, file, text, at)

using Change = std::vector<Step>;

class Directory {
 public:
    // Takes runtime.lock and finishes what a process before this one began.
    //   unavailable  another process has it
    Directory(const std::string& root, Durability durability, Observer observer);
    ~Directory();
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    [[nodiscard]] std::optional<std::string> read(const std::string& file) const;
    [[nodiscard]] std::vector<std::string> list(const std::string& directory) const; // sorted

    // P2: all steps, or none.
    //   unavailable       nothing has changed
    //   storage_failed    the disk refused after the moment of commit; nothing else is answered
    //                     until the directory is opened again
    void change(const Change& change);

    // Never the same twice, also not after a crash. Reserved in blocks: few cost a write.
    [[nodiscard]] std::uint64_t next_number();

 private:
    void check_usable() const;
    void write_new(const std::string& text);
    void put_in_place(const std::string& file);
    void remove(const std::string& file); // or a whole directory
    void append(const std::string& file, const std::string& text, std::uint64_t at);
    void take(const Change& steps);
    void make(const std::filesystem::path& directory);
    void sync_directories();

    void write(int file, std::string_view text, const std::string& name);
    void sync(int file, const std::string& name);
    void about_to(std::string_view call, const std::string& file) const {
        if (observer_) {
            observer_(call, file);
        }
    }

    std::filesystem::path root_;
    bool synced_;
    Observer observer_;
    int lock_ = -1;
    bool broken_ = false;
    std::set<std::string> unsynced_; // directories with names that came or went
    std::uint64_t next_ = 0;
    std::uint64_t reserved_ = 0; // numbers below this one are ours
};

} // namespace files_store
