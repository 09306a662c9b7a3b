// FaultyVfs: SQLite's door to the disk, with a disk behind it that fails at a chosen call.
//
// Reads, writes, syncs and truncations are counted, over all files and connections. Everything
// else passes. After a crash nothing reaches the disk any more, as if the process were gone. After
// a power cut the files are as they were when they were last synced.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <sqlite3.h>

namespace durable::sqlite {

enum class Fault : std::uint8_t { fails, disk_full, quota, crash };

class FaultyVfs {
 public:
    FaultyVfs(); // registers itself
    FaultyVfs(const FaultyVfs&) = delete;
    FaultyVfs& operator=(const FaultyVfs&) = delete;
    ~FaultyVfs();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
    [[nodiscard]] std::uint64_t syncs() const noexcept { return syncs_; }

    // The call with this number, counted from 1 on, meets the fault; 0: none does.
    void set_fault(std::uint64_t call, Fault fault);
    // Files are opened as if they could not be written.
    void set_read_only(bool read_only) noexcept { read_only_ = read_only; }

    // The memory that connections share has a file, which does not grow any more.
    void set_no_room_for_memory(bool none) noexcept { no_room_for_memory_ = none; }
    [[nodiscard]] bool no_room_for_memory() const noexcept { return no_room_for_memory_; }

    // A syncing thread waits until this is called with false, or for a very long time. False: a
    // thread has waited that long.
    bool hold_syncs(bool hold);
    [[nodiscard]] int held_syncs(); // how many wait
    // Removes unsynced data from the files, which no connection has open any more.
    void cut_power();

    // For the file methods: waits while syncs are held.
    void begin_sync();
    // For the file methods: what a file holds now is on the disk.
    void remember(const std::string& path, sqlite3_file* file);
    // For the file methods: the code to answer instead of doing it, or SQLITE_OK. `error` is what
    // this kind of call says when it fails.
    [[nodiscard]] int next_call(int error, bool writes);

 private:
    static int
    open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags);

    sqlite3_vfs vfs_{};
    sqlite3_vfs* real_ = nullptr;
    std::string name_;
    std::atomic<std::uint64_t> calls_ = 0;
    std::atomic<std::uint64_t> syncs_ = 0;
    std::atomic<std::uint64_t> fault_at_ = 0;
    std::atomic<Fault> fault_ = Fault::fails;
    std::atomic<bool> crashed_ = false;
    std::atomic<bool> read_only_ = false;
    std::atomic<bool> no_room_for_memory_ = false;
    std::mutex mutex_;
    std::map<std::string, std::string> synced_; // by path; guarded by mutex_, like what follows
    std::condition_variable released_;
    bool held_ = false;
    int waiting_ = 0;
    bool waited_too_long_ = false;
};

} // namespace durable::sqlite
