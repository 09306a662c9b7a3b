#include "power_cut/every_call.hpp"

#include "base/files.hpp"
#include "power_cut/child.hpp"
#include "power_cut/disk.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace durable::power_cut {

namespace {

template <class T>
T must(T result, const char* call) {
    if (result < 0) {
        throw std::system_error{errno, std::generic_category(), call};
    }
    return result;
}

void must_not_fail(int error, const char* call) {
    if (error != 0) {
        throw std::system_error{error, std::generic_category(), call};
    }
}

constexpr std::string_view text = "abcdefghijklmnopqrstuvwxyz";

iovec piece(std::string_view bytes) {
    return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

void write_in_every_way(int fd) {
    const std::array<iovec, 2> pieces{piece(text.substr(0, 5)), piece(text.substr(5))};
    must(::write(fd, text.data(), text.size()), "write");
    must(::writev(fd, pieces.data(), pieces.size()), "writev");
    must(::pwrite(fd, text.data(), text.size(), 1000), "pwrite");
    must(::pwrite64(fd, text.data(), text.size(), 2000), "pwrite64");
    must(::pwritev(fd, pieces.data(), pieces.size(), 3000), "pwritev");
    must(::pwritev64(fd, pieces.data(), pieces.size(), 4000), "pwritev64");
}

void resize_in_every_way(int fd) {
    must(::ftruncate(fd, 4010), "ftruncate");
    must(::ftruncate64(fd, 4020), "ftruncate64");
    must(::fallocate(fd, 0, 0, 5000), "fallocate");
    must(::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20), "fallocate that keeps the size");
    must(::fallocate64(fd, 0, 0, 6000), "fallocate64");
    must_not_fail(::posix_fallocate(fd, 0, 7000), "posix_fallocate");
    must_not_fail(::posix_fallocate64(fd, 0, 8000), "posix_fallocate64");
}

void append(const char* path, int flags) {
    const int fd = must(::open(path, O_WRONLY | O_APPEND | flags), "open to append");
    must(::write(fd, text.data(), text.size()), "append");
    must(::close(fd), "close");
}

void open_in_every_way(int directory) {
    const std::array files{
        must(::open("open", O_RDWR | O_CREAT, 0600), "open"),
        must(::open64("open64", O_RDWR | O_CREAT, 0600), "open64"),
        must(::creat("creat", 0600), "creat"),
        must(::creat64("creat64", 0600), "creat64"),
        must(::openat(directory, "openat", O_RDWR | O_CREAT, 0600), "openat"),
        must(::openat64(directory, "./x/../openat64", O_RDWR | O_CREAT, 0600), "openat64")};
    for (const int file : files) {
        write_in_every_way(file);
    }
    resize_in_every_way(files[0]);
    const std::array copies{must(::dup(files[1]), "dup"),
                            must(::dup2(files[1], 100), "dup2"),
                            must(::dup3(files[1], 101, O_CLOEXEC), "dup3"),
                            must(::fcntl(files[1], F_DUPFD_CLOEXEC, 102), "fcntl"),
                            must(::fcntl64(files[1], F_DUPFD, 102), "fcntl64")};
    for (const int copy : copies) {
        must(::pwrite(copy, text.data(), text.size(), copy * 100), "pwrite");
        must(::close(copy), "close");
    }
    for (const int file : files) {
        must(::close(file), "close");
    }
    must(::close(must(::open("creat", O_RDWR | O_TRUNC), "open to truncate")), "close");
    append("creat64", 0);
}

void name_in_every_way(int directory) {
    must(::mkdir("d", 0700), "mkdir");
    must(::mkdirat(directory, "e", 0700), "mkdirat");
    must(::mkdir("d/gone", 0700), "mkdir");
    must(::rmdir("d/gone"), "rmdir");
    must(::unlinkat(directory, "e", AT_REMOVEDIR), "unlinkat");
    must(::rename("open", "d/renamed"), "rename");
    must(::renameat(directory, "open64", directory, "creat"), "renameat");
    must(::renameat2(directory, "openat", directory, "f", RENAME_NOREPLACE), "renameat2");
    must(::link("f", "g"), "link");
    must(::linkat(directory, "f", directory, "h", 0), "linkat");
    must(::unlink("g"), "unlink");
    must(::unlinkat(directory, "h", 0), "unlinkat");
    must(std::remove("openat64"), "remove");
    must(::mkdir("i", 0700), "mkdir");
    must(std::remove("i"), "remove of a directory");
}

void make(const std::string& path, int flags) {
    const int fd = must(::open(path.c_str(), O_RDWR | O_CREAT | flags, 0600), "open");
    must(::write(fd, text.data(), text.size()), "write");
    if (path == "fsync") {
        must(::fsync(fd), "fsync");
    } else if (path == "fdatasync") {
        must(::fdatasync(fd), "fdatasync");
    }
    must(::close(fd), "close");
}

} // namespace

void make_every_call(const std::string& directory) {
    must(::chdir(directory.c_str()), "chdir");
    const int here = must(::open(".", O_RDONLY | O_DIRECTORY), "open a directory");
    must(::mkdir("x", 0700), "mkdir");
    open_in_every_way(here);
    name_in_every_way(here);
    make("fsync", 0);
    make("fdatasync", 0);
    make("O_SYNC", O_SYNC);
    make("O_DSYNC", O_DSYNC);
    make("not", 0);
    must(::fsync(here), "fsync of a directory");
    make("late", 0);
    must(::close(here), "close");
    must(::write(STDOUT_FILENO, text.data(), text.size()), "note");
}

std::string flaw_of_recorder(const std::string& scratch) {
    const auto path = [&](const std::string& name) { return scratch + "/" + name; };
    (void)system_files().make_directory(path("base"));
    (void)system_files().make_directory(path("live"));
    (void)replace_file(system_files(), path("trace"), "");
    auto child = Child::recorded({"calls", path("live")}, path("trace"), path("live"));
    if (const auto ended = child.wait(); !ended.empty()) {
        return "the child ended with " + ended;
    }
    Disk disk{path("base")};
    const Trace trace{path("trace")};
    bool noted = false;
    for (const auto& record : trace.records()) {
        disk.take(record);
        noted = noted || (record.call == Call::note && record.bytes == text);
    }
    if (!noted) {
        return "the diary is not in the trace";
    }
    if (const auto differs = disk.difference(path("live"))) {
        return *differs;
    }
    disk.leave(path("left"), {}); // the files that were synced, and no name after the last sync
    const std::map<std::string, std::string_view> wanted{
        {"fsync", text}, {"fdatasync", text}, {"O_SYNC", text}, {"O_DSYNC", text}, {"not", ""}};
    for (const auto& [name, content] : wanted) {
        if (read_file(system_files(), path("left/" + name)) != content) {
            return "the trace says something else of what is durable in " + name;
        }
    }
    return read_file(system_files(), path("left/late")) ? "a name is durable without a sync" : "";
}

} // namespace durable::power_cut
