// FsProvider: the ledger with a journal in a directory.
//
// The ledger decides and holds the state; this class journals its records and says when an answer
// may leave the process (P12):
//
//   a turn's end, an activity's end   at once; its record keeps its place in the order
//   a turn given to an engine         its attempt is written (P7: a process crash counts it)
//   an activity given to a worker     the activity is durable, its attempt is written
//   any other answer, any read        everything up to it is durable

#pragma once

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/random.hpp"
#include "providers/fs/checkpoint/checkpoint.hpp"
#include "providers/fs/checkpoint/snapshot.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/format/close_codec.hpp"
#include "providers/fs/housekeeper.hpp"
#include "providers/fs/journal/journal.hpp"
#include "providers/fs/packs/pack_archive.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/fs/packs/pack_index.hpp"
#include "providers/ledger/archive.hpp"
#include "providers/ledger/image.hpp"
#include "providers/ledger_store/ledger_provider.hpp"

#include <durable/fs.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace durable::fs {

// What tests and simulations put in the place of the machine.
struct Machine {
    Files* files = nullptr;         // nullptr: the machine's
    std::shared_ptr<Random> random; // nullptr: the machine's
    // Without threads callers do all the work: the same calls make the same file operations.
    bool threads = true;
    Segments::Sizes segment_sizes;
    // A checkpoint begins when the journal behind the last one is this large, and as large as the
    // last one: so checkpoints never write more bytes than the journal.
    std::uint64_t checkpoint_bytes = 1ULL << 25U;
    // How many bytes of a checkpoint are encoded under the mutex at a time.
    std::size_t checkpoint_piece = 1U << 16U;
    // A pack begins when finished instances have about so many bytes of history; 0: at once.
    std::uint64_t pack_bytes = 1ULL << 22U;
    // So many small packs become one.
    std::size_t small_packs = 8;
    // How many packed instances that a call looked up stay in memory.
    std::size_t most_copies = 256;
};

class FsProvider final : public ledger::LedgerProvider {
 public:
    [[nodiscard]] static Result<std::shared_ptr<FsProvider>>
    open(const std::string& directory, const Options& options, const Machine& machine = {});
    // Closes in good order: everything is durable, and leases go on in the next process.
    ~FsProvider() override;

    [[nodiscard]] std::string name() const override { return "fs"; }
    [[nodiscard]] std::string version() const override;
    [[nodiscard]] Durability durability() const noexcept override { return options_.durability; }

    [[nodiscard]] JournalCounters counters() const { return journal_->counters(); }

    Result<std::vector<std::string>> list_instances() override;
    Result<std::vector<std::string>> list_instances_by_status(const std::string& status) override;

    // Makes a checkpoint now, also when none is due.
    [[nodiscard]] Result<> make_checkpoint();

    // ---- The back door, for tests; see validation.hpp. Damage goes into a checkpoint: records in
    // the journal could not contain it.

    [[nodiscard]] Result<> corrupt_history(const std::string& instance);
    [[nodiscard]] Result<>
    corrupt_event(const std::string& instance, std::uint64_t execution_id, std::uint64_t event_id);
    [[nodiscard]] Result<> inject_orchestrator_row(const std::string& instance,
                                                   const std::string& text);
    [[nodiscard]] Result<> inject_worker_row(const std::string& text);
    [[nodiscard]] std::uint32_t max_attempt_count(const std::string& instance);
    // The durable state: equal stores give equal states.
    struct State {
        Lsn lsn = 0;
        ledger::RestImage rest;
        std::vector<ledger::InstanceImage> instances; // by id
        bool operator==(const State&) const = default;
    };
    [[nodiscard]] State state();

 protected:
    [[nodiscard]] Result<> journal(const ledger::Record& record) override DURABLE_REQUIRES(mutex_);
    [[nodiscard]] std::uint64_t position() const override DURABLE_REQUIRES(mutex_);
    void set_once_safe(const MutexLock& lock,
                       std::uint64_t position,
                       const std::shared_ptr<Signal>& signal) override DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<> wait_until_safe(AnswerKind kind,
                                           std::uint64_t position,
                                           ledger::Seq given) override DURABLE_EXCLUDES(mutex_);
    void applied() override DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<> looked() override DURABLE_REQUIRES(mutex_);
    void defer_reads() override DURABLE_REQUIRES(mutex_);
    [[nodiscard]] std::unique_ptr<ledger::DeferredRead> take_deferred_read() override
        DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<std::vector<std::string>>
    archived(const InstanceFilter& filter, bool roots, std::size_t limit) override
        DURABLE_EXCLUDES(mutex_);

 private:
    FsProvider(StoreDirectory directory, Options options, const Machine& machine);

    [[nodiscard]] Result<> recover();
    // storage_failed in a child process made by fork.
    [[nodiscard]] Result<> at_home() const;
    void close();
    void keep_house();
    // One piece of what is in progress or due; true: there is more to do.
    [[nodiscard]] bool work();
    [[nodiscard]] bool work_on_checkpoint();
    [[nodiscard]] Result<bool> write_piece() DURABLE_EXCLUDES(mutex_);
    void drop_checkpoint() DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] Lsn made_by(ledger::Seq seq) DURABLE_EXCLUDES(made_mutex_);

    // ---- fs_archive.cpp: instances in packs

    class DeferredPackRead;
    // Brings the instances that the record changes into memory; answers their ids.
    [[nodiscard]] Result<std::vector<std::string>> bring_touched(const ledger::Record& record)
        DURABLE_REQUIRES(mutex_);
    void drop_spare_copies() DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] Result<> remove_unnamed_packs() DURABLE_REQUIRES(mutex_);
    // The packs as of now, for reading without the mutex.
    struct PackView {
        std::shared_ptr<const Pack> pack;
        std::vector<bool> live;
    };
    [[nodiscard]] std::vector<PackView> view_packs() const DURABLE_REQUIRES(mutex_);
    // Until `each` returns false. The files of the packs stay as long as the view.
    [[nodiscard]] Result<> for_each_line(const std::vector<PackView>& packs,
                                         const std::function<bool(PackLine&)>& each);
    [[nodiscard]] Result<std::vector<std::string>>
    list(std::string_view operation, std::optional<ExecutionStatus> status, bool all);

    // ---- fs_packing.cpp: packs are written and compacted, guarded by house_mutex_

    struct Packing {
        PackWriter writer;
        std::vector<std::uint32_t> sources; // packs that are rewritten; empty: the ledger
        std::vector<PackPlace> places;      // where each line comes from
        std::vector<PackLine> lines;        // of the source at hand
        std::size_t source = 0;
        std::size_t line = 0;
        std::optional<PackRecord> finished;
        std::size_t installed = 0;
    };
    [[nodiscard]] bool work_on_pack();
    [[nodiscard]] Result<bool> pack_piece();
    [[nodiscard]] Result<bool> begin_packing();
    [[nodiscard]] Result<bool> gather_settled();
    [[nodiscard]] Result<bool> gather_lines();
    [[nodiscard]] bool install_some();
    void install_line(PackPlace place, const PackLine& line) DURABLE_REQUIRES(mutex_);
    void drop_packing() DURABLE_EXCLUDES(mutex_);
    void remove_obsolete_packs();

    // ---- fs_views.cpp: readable views, guarded by house_mutex_

    struct View {
        std::string id;
        std::optional<ledger::InstanceImage> image; // nullopt: it is in a pack, or deleted
        std::vector<PackArchive::Wanted> packed;
    };
    void note_views(const std::vector<std::string>& changing) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] bool work_on_views();
    [[nodiscard]] Result<bool> begin_views() DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] Result<bool> write_views() DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] View view_of(const std::string& id) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<> write_one(const View& view, Lsn as_of) DURABLE_EXCLUDES(mutex_);
    void finish_views();

    const Options options_;
    const Machine machine_;
    const StoreDirectory directory_;
    Files& files_; // of the directory
    const HomeProcess home_;
    std::unique_ptr<Journal> journal_; // set once, by recover()

    // Which record made a queue item; only the latest, whose records may not be durable yet.
    struct Made {
        ledger::Seq next_seq = 0; // items below it were made by this record or earlier
        Lsn lsn = 0;
    };
    Mutex made_mutex_;
    std::deque<Made> made_ DURABLE_GUARDED_BY(made_mutex_);

    // The checkpoint in progress.
    std::optional<Snapshot> snapshot_ DURABLE_GUARDED_BY(mutex_);
    std::mutex house_mutex_; // of the thread that works on it; locked before mutex_
    std::optional<CheckpointWriter> checkpoint_;  // guarded by house_mutex_
    std::atomic<std::uint64_t> checkpoint_at_{0}; // one is due when journal_->bytes() reaches this
    std::atomic<bool> closing_{false};

    PackArchive archive_ DURABLE_GUARDED_BY(mutex_);
    std::atomic<int> deferred_reads_{0}; // under way
    std::uint64_t
        killed_ DURABLE_GUARDED_BY(mutex_) = 0; // lines that died since the packs were checked
    bool packing_begun_ DURABLE_GUARDED_BY(mutex_) = false;
    std::optional<Packing> packing_;                    // guarded by house_mutex_
    std::vector<std::shared_ptr<const Pack>> obsolete_; // likewise; files to be removed
    std::atomic<bool> packing_due_{false};
    std::atomic<std::uint64_t> packing_from_{0}; // not before journal_->bytes() reaches this

    std::unordered_set<std::string> unseen_ DURABLE_GUARDED_BY(mutex_); // changed since their view
    bool views_begun_ = false;                                          // guarded by house_mutex_
    std::atomic<bool> views_due_{false};

    std::unique_ptr<Housekeeper> housekeeper_; // last: its thread uses everything above
};

} // namespace durable::fs
