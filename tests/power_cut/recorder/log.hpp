// The recorder: a shared library for LD_PRELOAD that writes down what the process, unmodified, asks
// of the file system below one directory.
//
// A call and its record are made under one lock, held against all threads and processes of a trace:
// so the records are in the order of the effects. A sync alone is made without it, between two
// records.
//
// Not seen: writes through memory (recorded as `map`), calls that the C library makes of itself
// (fopen), system calls made without it. A trace that lacks something is found out: what it makes
// of the directory is compared with the directory. sync_file_range and msync promise nothing.

#pragma once

#include "power_cut/trace_format.hpp"

#include <string>
#include <string_view>

#include <dlfcn.h>

namespace durable::power_cut::recorder {

[[noreturn]] void give_up(std::string_view why);

// The C library's own function of that name.
template <class Function>
Function* next(const char* name) {
    auto* found = ::dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        give_up(name);
    }
    return reinterpret_cast<Function*>(found);
}
#define NEXT(name)                                                                                 \
    static auto* const next_##name = ::durable::power_cut::recorder::next<decltype(::name)>(#name)

// Held while a call and its record are made. Keeps errno.
class Lock {
 public:
    Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();
};

// Under the lock. The lengths, the process and the thread are filled in.
void record(TraceHead head,
            std::string_view path = {},
            std::string_view other = {},
            std::string_view bytes = {});

// Descriptors of files below the directory.
[[nodiscard]] bool is_tracked(int fd);
void track(int fd, bool on);
// Standard output is the process's diary.
[[nodiscard]] bool is_diary(int fd);

// Where a path leads below the directory, which is "/"; empty: elsewhere.
[[nodiscard]] std::string below_root(int directory, const char* path);

} // namespace durable::power_cut::recorder
