// SimFiles: a disk in memory that keeps synced changes apart from those that were only written. A
// simulated crash drops, keeps, tears, reorders or garbles the latter.
//
// Every call has a number. A test learns from calls() how many a workload makes, and then runs it
// again once per number with crash_at(n) or fail_at(n). All chance comes from the seed.
//
// The model is as harsh as the promises of POSIX allow: a file's bytes are durable after its sync,
// a name is durable after the sync of its directory, a rename is atomic, and nothing else is sure.
// Sectors of 512 bytes reach the disk in any order. A size, with the space allocated for it,
// reaches it apart from the bytes: a power loss leaves any size between the synced one and the
// current one.

#pragma once

#include "base/files.hpp"
#include "base/mutex.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace durable::simulation {

// What a crash leaves of the changes that were not synced.
enum class Survival : std::uint8_t {
    nothing,    // power loss, nothing had left the cache
    everything, // process crash: the system still has it all
    some,       // power loss: each sector kept, dropped, torn or garbled by the seed, and any size
};

// Chances in thousandths that a call fails, for long runs.
struct FaultRates {
    unsigned io_error = 0;    // any call but a sync
    unsigned sync_error = 0;  // a sync; part of the data is lost for ever
    unsigned no_space = 0;    // calls that may need space
    unsigned no_handles = 0;  // open
    unsigned short_write = 0; // a write transfers only a part
};

struct SimInode; // sim_inode.hpp

class SimFiles final : public Files {
 public:
    explicit SimFiles(std::uint64_t seed = 1);
    ~SimFiles() override;

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
    FileResult<> make_directory(const std::string& path) override;
    FileResult<> rename(const std::string& from, const std::string& to) override;
    FileResult<> remove(const std::string& path) override;
    FileResult<> remove_directory(const std::string& path) override;
    FileResult<std::vector<DirectoryEntry>> list(const std::string& directory) override;
    FileResult<> sync_directory(const std::string& path) override;
    FileResult<std::unique_ptr<Directory>> open_directory(const std::string& path) override;
    FileResult<std::string> absolute(const std::string& path) override; // working directory: "/"
    FileResult<std::string> resolve(const std::string& path) override;  // there are no links
    FileResult<FileStatus> status(const std::string& path) override;

    // ---- Faults

    [[nodiscard]] std::uint64_t calls() const; // made so far; the next one has this number
    // That call is done in part or not at all, and everything fails from then on.
    void crash_at(std::uint64_t call);
    // Only that call fails. A failed sync loses part of the data, as systems do.
    void fail_at(std::uint64_t call, std::errc code);
    void set_fault_rates(const FaultRates& rates);
    // Until refuse_writes(false), writes find no space, also where it was allocated, as on file
    // systems that never write in place.
    void refuse_writes(bool refuse);
    // The size of the disk: what files hold or have allocated, in bytes.
    void set_capacity(std::uint64_t bytes);
    [[nodiscard]] bool crashed() const;
    // Comes back after a crash (or crashes now, first). Old File objects only fail from now on.
    // Clears all faults but the capacity.
    void restart(Survival survival);

    struct Call {
        std::string what; // "write"
        std::string path;
    };
    void keep_trace();                             // of all calls from now on
    [[nodiscard]] std::vector<Call> trace() const; // begins with the first call after keep_trace()

    // ---- For tests: reads and damages files past the interface; no call is counted

    [[nodiscard]] std::uint64_t syncs() const;            // syncs of files so far
    [[nodiscard]] std::uint64_t used() const;             // bytes on the disk
    [[nodiscard]] std::vector<std::string> paths() const; // all files, sorted
    [[nodiscard]] std::string content(const std::string& path) const;
    // Replaces the cached and the durable content, as bit rot or a faulty tool would.
    void overwrite(const std::string& path, std::string content);

 private:
    friend class SimFile;
    friend class SimDirectory;
    struct NameChange;
    enum class Verdict : std::uint8_t { go, crash };
    using Names = std::map<std::string, std::shared_ptr<SimInode>, std::less<>>;

    // Counts the call and decides whether it works, fails or crashes.
    FileResult<Verdict> admit(std::string_view call, const std::string& path, unsigned rate)
        DURABLE_REQUIRES(mutex_);
    FileResult<> require_space(const SimInode& inode, std::uint64_t size) DURABLE_REQUIRES(mutex_);
    void change_names(NameChange change, Verdict verdict) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] bool is_directory(std::string_view path) const DURABLE_REQUIRES(mutex_);
    [[nodiscard]] std::uint64_t used_bytes() const DURABLE_REQUIRES(mutex_);
    bool chance(unsigned thousandths) DURABLE_REQUIRES(mutex_);
    void lose_power(Survival survival) DURABLE_REQUIRES(mutex_);

    mutable Mutex mutex_;
    std::mt19937_64 random_ DURABLE_GUARDED_BY(mutex_);
    Names names_ DURABLE_GUARDED_BY(mutex_);         // as programs see them; directories included
    Names durable_names_ DURABLE_GUARDED_BY(mutex_); // as the disk has them
    std::vector<NameChange> pending_names_ DURABLE_GUARDED_BY(mutex_);
    std::uint64_t calls_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::uint64_t syncs_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::uint64_t boot_ DURABLE_GUARDED_BY(mutex_) = 0; // files of an earlier boot are dead
    std::uint64_t capacity_ DURABLE_GUARDED_BY(mutex_) = UINT64_MAX;
    bool crashed_ DURABLE_GUARDED_BY(mutex_) = false;
    bool refuse_writes_ DURABLE_GUARDED_BY(mutex_) = false;
    std::optional<std::vector<Call>> trace_ DURABLE_GUARDED_BY(mutex_);
    FaultRates rates_ DURABLE_GUARDED_BY(mutex_);
    std::optional<std::uint64_t> crash_at_ DURABLE_GUARDED_BY(mutex_);
    std::optional<std::pair<std::uint64_t, std::errc>> fail_at_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::simulation
