#include "directory.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace files_store {

namespace {

constexpr const char* commit_file = "commit.json";
constexpr const char* new_file = "new.tmp"; // one is enough: callers hold the provider's mutex
constexpr const char* number_file = "next_number.json";
constexpr std::uint64_t numbers_at_once = 1000;

[[noreturn]] void give_up(const std::string& what, const std::string& file) {
    throw std::system_error{errno, std::generic_category(), what + " " + file};
}

class OpenFile {
 public:
    OpenFile(const std::filesystem::path& path, int flags)
        : file_{::open(path.c_str(), flags | O_CLOEXEC, 0600)} {
        if (file_ < 0) {
            give_up("open", path);
        }
    }
    ~OpenFile() { ::close(file_); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    operator int() const noexcept { return file_; } // NOLINT(google-explicit-constructor)

 private:
    int file_;
};

} // namespace

Directory::Directory(const std::string& root, Durability durability, Observer observer)
    : root_{std::filesystem::absolute(root)},
      synced_{durability == Durability::power_loss},
      observer_{std::move(observer)} {
    make(root_);
    // Never removed: a lock on a file that has lost its name would exclude no other process.
    lock_ = ::open((root_ / "runtime.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        if (lock_ >= 0) {
            ::close(lock_);
        }
        refuse(ErrorCode::unavailable, "another process uses " + root_.string());
    }
    try {
        remove(new_file); // not cut: after a power cut it may be a second name of a good file
        if (const auto left = read(commit_file)) {
            take(Codec<Change>::decode(*left));
        }
        if (const auto number = read(number_file)) {
            next_ = reserved_ = Codec<std::uint64_t>::decode(*number);
        }
    } catch (...) {
        ::close(lock_);
        throw;
    }
}

Directory::~Directory() {
    ::close(lock_);
}

// What stands in the files now may be half of a change.
void Directory::check_usable() const {
    if (broken_) {
        refuse(ErrorCode::storage_failed, "a change could not be finished: open the store again");
    }
}

std::optional<std::string> Directory::read(const std::string& file) const {
    check_usable();
    if (!std::filesystem::exists(root_ / file)) {
        return std::nullopt;
    }
    const OpenFile opened{root_ / file, O_RDONLY};
    std::string text(std::filesystem::file_size(root_ / file), '\0');
    for (std::size_t done = 0; done < text.size();) {
        const auto count = ::read(opened, text.data() + done, text.size() - done);
        if (count <= 0) {
            give_up("read", file);
        }
        done += static_cast<std::size_t>(count);
    }
    return text;
}

std::vector<std::string> Directory::list(const std::string& directory) const {
    check_usable();
    std::vector<std::string> names;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator{root_ / directory, missing}) {
        names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
}

void Directory::change(const Change& change) {
    check_usable();
    if (change.empty()) {
        return;
    }
    const auto& first = change.front();
    const bool one_file = change.size() == 1 && first.text && !first.at;
    const auto text = one_file ? *first.text : to_payload(change);
    write_new(text); // a disk that is full refuses here, and nothing has changed
    try {
        put_in_place(one_file ? first.file : commit_file);
        sync_directories();
        if (!one_file) {
            take(change);
        }
    } catch (const std::exception& error) {
        broken_ = true; // whether the change counts is for the next open to find out
        refuse(ErrorCode::storage_failed, error.what());
    }
}

// Everything is on the disk before commit.json goes, and that it went before anything follows:
// found after a later change, it would undo that one.
void Directory::take(const Change& steps) {
    for (const auto& [file, text, at] : steps) {
        if (!text) {
            remove(file);
        } else if (at) {
            append(file, *text, *at);
        } else {
            write_new(*text);
            put_in_place(file);
        }
    }
    sync_directories();
    remove(commit_file);
    sync_directories();
}

void Directory::write_new(const std::string& text) {
    about_to("open", new_file);
    const OpenFile file{root_ / new_file, O_WRONLY | O_CREAT | O_TRUNC};
    write(file, text, new_file);
    sync(file, new_file);
}

void Directory::put_in_place(const std::string& file) {
    make((root_ / file).parent_path());
    about_to("rename", file);
    std::filesystem::rename(root_ / new_file, root_ / file);
    unsynced_.insert(std::filesystem::path{file}.parent_path());
}

void Directory::remove(const std::string& file) {
    const bool whole_directory = std::filesystem::is_directory(root_ / file);
    if (whole_directory) {
        for (const auto& name : list(file)) {
            remove(file + "/" + name);
        }
    }
    about_to(whole_directory ? "rmdir" : "unlink", file);
    const auto path = root_ / file;
    const auto failed = whole_directory ? ::rmdir(path.c_str()) : ::unlink(path.c_str());
    if (failed != 0 && errno != ENOENT) {
        give_up("remove", file);
    }
    unsynced_.insert(std::filesystem::path{file}.parent_path());
}

// Half of it may be there already, from a process that died here: the rest is the same.
void Directory::append(const std::string& file, const std::string& text, std::uint64_t at) {
    make((root_ / file).parent_path());
    about_to("open", file);
    const OpenFile opened{root_ / file, O_WRONLY | O_CREAT};
    unsynced_.insert(std::filesystem::path{file}.parent_path());
    if (::lseek(opened, static_cast<off_t>(at), SEEK_SET) < 0) {
        give_up("lseek", file);
    }
    write(opened, text, file);
    sync(opened, file);
}

// The name of a directory is durable when the one that it is in has been synced.
void Directory::make(const std::filesystem::path& directory) {
    if (std::filesystem::exists(directory)) {
        return;
    }
    const auto parent = directory.parent_path();
    make(parent);
    about_to("mkdir", directory);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) { // "a/" is there with "a"
        give_up("mkdir", directory);
    }
    sync(OpenFile{parent, O_RDONLY | O_DIRECTORY}, parent);
}

void Directory::write(int file, std::string_view text, const std::string& name) {
    about_to("write", name);
    while (!text.empty()) {
        const auto written = ::write(file, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            give_up("write", name);
        }
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
}

void Directory::sync(int file, const std::string& name) {
    if (synced_) {
        about_to("fsync", name);
        if (::fsync(file) != 0) {
            give_up("fsync", name);
        }
    }
}

void Directory::sync_directories() {
    for (const auto& directory : std::exchange(unsynced_, {})) {
        if (synced_ && std::filesystem::exists(root_ / directory)) { // it may be gone as well
            sync(OpenFile{root_ / directory, O_RDONLY | O_DIRECTORY}, directory);
        }
    }
}

std::uint64_t Directory::next_number() {
    if (next_ == reserved_) {
        const auto more = reserved_ + numbers_at_once;
        change({{.file = number_file, .text = to_payload(more)}});
        next_ = std::max<std::uint64_t>(next_, 1);
        reserved_ = more;
    }
    return next_++;
}

} // namespace files_store
