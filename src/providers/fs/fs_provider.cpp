#include "providers/fs/fs_provider.hpp"

#include "base/try.hpp"
#include "providers/fs/frame.hpp"
#include "providers/fs/fs_error.hpp"
#include "providers/fs/record_codec.hpp"
#include "providers/fs/store_parts.hpp"

#include <algorithm>
#include <iostream>
#include <utility>
#include <variant>

namespace durable::fs {

namespace {

// The highest worker item that the record makes; 0: none.
ledger::Seq last_work_of(const ledger::Record& record) {
    if (const auto* commit = std::get_if<ledger::op::CommitTurn>(&record.operation)) {
        return commit->work.empty() ? 0 : commit->work.back().seq;
    }
    const auto* enqueued = std::get_if<ledger::op::EnqueueWork>(&record.operation);
    return enqueued == nullptr ? 0 : enqueued->work.seq;
}

// Others may read a store that exists, or one on a file system without permissions.
Result<> warn_of_readers(Files& files, const std::string& path, const Options& options) {
    DURABLE_TRY_ASSIGN(const auto warning, describe_readers(files, path, options.access));
    const auto logger = options.logger ? options.logger : text_logger(std::cerr, LogLevel::warn);
    if (!warning.empty() && logger->enabled(LogLevel::warn, "store")) {
        const auto clock = options.clock ? options.clock : system_clock();
        logger->write({.level = LogLevel::warn,
                       .source = "store",
                       .message = warning,
                       .time = clock->now(),
                       .instance = {},
                       .fields = {}});
    }
    return {};
}

} // namespace

Result<std::shared_ptr<Provider>> open(const std::string& directory, Options options) {
    auto opened = FsProvider::open(directory, options);
    if (!opened) {
        auto error = std::move(opened).error();
        error.operation = "open";
        return std::unexpected{std::move(error)};
    }
    return *std::move(opened);
}

Result<std::shared_ptr<FsProvider>>
FsProvider::open(const std::string& directory, const Options& options, const Machine& machine) {
    if (options.durability == Durability::none) {
        return fail(ErrorCode::invalid_argument, "a store on disk survives at least process_crash");
    }
    if (options.unstarted_message_ttl < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "fs::Options::unstarted_message_ttl must not be negative");
    }
    auto& files = machine.files != nullptr ? *machine.files : system_files(options.access);
    DURABLE_TRY_ASSIGN(auto taken, StoreDirectory::open(files, directory));
    DURABLE_TRY(warn_of_readers(files, taken.path(), options));
    const std::shared_ptr<FsProvider> store{new FsProvider{std::move(taken), options, machine}};
    DURABLE_TRY(store->recover());
    return store;
}

FsProvider::FsProvider(StoreDirectory directory, Options options, const Machine& machine)
    : LedgerProvider{ledger::Options{.unstarted_message_ttl = options.unstarted_message_ttl,
                                     .track_settled = true},
                     options.clock,
                     machine.random},
      options_{std::move(options)},
      machine_{machine},
      directory_{std::move(directory)},
      files_{directory_.files()},
      archive_{files_, directory_.packs(), ledger_} {}

FsProvider::~FsProvider() {
    if (!home_.here()) {
        // The threads of these are not in this process, and whoever has them goes on with the
        // files: joining would wait for ever, and so would condition variables with their waiters.
        (void)housekeeper_.release();
        (void)journal_.release();
        return;
    }
    closing_.store(true);
    housekeeper_.reset();
    drop_packing();
    drop_checkpoint();
    if (journal_) {
        finish_views();
        close();
    }
}

// Nobody is left to be told of an error: what was acknowledged is durable already, and leases that
// are not handed over just run out.
void FsProvider::close() {
    Close last;
    {
        const MutexLock lock{mutex_};
        last = {.at = clock_->now(), .handover = ledger::hand_over(ledger_, now())};
    }
    (void)journal_->append([&](std::string& out) { return encode_members(out, last); });
    (void)journal_->ensure_durable(journal_->last());
}

std::string FsProvider::version() const {
    return engine_version_text();
}

Result<> FsProvider::recover() {
    const MutexLock lock{mutex_};
    directory_.files().when_lost([this](const FileError& error) {
        if (journal_) {
            journal_->give_up(to_error(error));
        }
    });
    DURABLE_TRY_ASSIGN(const auto checkpoint, load_checkpoint());
    // A process that died may have renamed it only: it must stay before its records go.
    DURABLE_TRY(to_result(files_.sync_directory(directory_.checkpoint())));
    ledger_.instances.keep_in(&archive_);
    std::optional<Close> last;  // set while a close is the latest record
    std::uint64_t replayed = 0; // bytes
    const auto replay = [&](const JournalRecord& stored) -> Result<> {
        mutex_.assert_held();
        const auto damaged = [&](const Error& error) {
            return fail(ErrorCode::corrupt,
                        stored.path + ", byte " + std::to_string(stored.offset) + ": record " +
                            std::to_string(stored.lsn) + ": " + error.message);
        };
        last.reset();
        replayed += stored.json.size() + frame_overhead;
        if (is_close(stored.json)) {
            auto close = decode_close(stored.json);
            if (!close) {
                return damaged(close.error());
            }
            last = *std::move(close);
            return {};
        }
        auto record = decode_record(stored.json);
        if (!record) {
            return damaged(record.error());
        }
        auto changing = bring_touched(*record);
        if (!changing) {
            return damaged(changing.error());
        }
        (void)archive_.forget_copies(*changing);
        archive_.drop_copies(machine_.most_copies);
        ledger_.apply(*std::move(record));
        return {};
    };
    DURABLE_TRY_ASSIGN(
        const auto end,
        read_journal(files_,
                     directory_.journal(),
                     checkpoint.lsn,
                     replay,
                     {.gapless = directory_.gapless(), .records = checkpoint.in_journal}));
    DURABLE_TRY(require_source_of_packs(files_, directory_.packs(), checkpoint.lsn, end.last));
    DURABLE_TRY(remove_unnamed_packs());
    DURABLE_TRY(cut_journal(files_, directory_.journal(), end));
    journal_ = std::make_unique<Journal>(files_,
                                         directory_.journal(),
                                         JournalOptions{.durability = options_.durability,
                                                        .writer_thread = machine_.threads,
                                                        .on_failure = [this] { tell_watchers(); },
                                                        .segment_sizes = machine_.segment_sizes},
                                         end);
    // Many small segments, of a store that is opened and closed often, are worth one as well.
    constexpr std::size_t many_segments = 16;
    const auto due = checkpoint_at_.load(); // by its size alone
    checkpoint_at_.store(end.segments.size() > many_segments || due < replayed ? 0
                                                                               : due - replayed);
    if (last) {
        // The wall clock may have been set back in between: leases never get longer.
        const auto elapsed = std::max(clock_->now() - last->at, Duration::zero());
        ledger::take_over(ledger_, last->handover, elapsed, now());
    }
    applied(); // what had finished may be packed
    views_due_.store(options_.readable_views);
    if (machine_.threads) {
        housekeeper_ = std::make_unique<Housekeeper>([this] { keep_house(); });
    }
    return {};
}

Result<> FsProvider::journal(const ledger::Record& record) {
    DURABLE_TRY(at_home());
    DURABLE_TRY_ASSIGN(const auto changing, bring_touched(record));
    if (snapshot_) {
        DURABLE_TRY(snapshot_->keep(ledger_, record));
    }
    DURABLE_TRY_ASSIGN(const auto lsn, journal_->append([&](std::string& out) {
        return encode_members(out, record);
    }));
    if (const auto seq = last_work_of(record); seq != 0) {
        const MutexLock lock{made_mutex_};
        while (!made_.empty() && made_.front().lsn <= journal_->durable()) {
            made_.pop_front();
        }
        made_.push_back({.next_seq = seq + 1, .lsn = lsn});
    }
    killed_ += archive_.forget_copies(changing);
    note_views(changing);
    return {};
}

std::uint64_t FsProvider::position() const {
    return journal_->last();
}

Result<> FsProvider::at_home() const {
    return home_.here() ? Result<>{}
                        : fail(ErrorCode::storage_failed,
                               "the store " + directory_.path() +
                                   " was opened by the process that this one was forked from, and "
                                   "stays with it; call exec, or open stores behind fork");
}

Result<> FsProvider::settle(Telling what, std::uint64_t position, ledger::Seq given) {
    DURABLE_TRY(at_home());
    if (journal_->wants_spare() || journal_->bytes() >= checkpoint_at_.load() ||
        packing_due_.load(std::memory_order_relaxed) ||
        views_due_.load(std::memory_order_relaxed)) {
        housekeeper_ ? housekeeper_->ask() : keep_house();
    }
    switch (what) {
    case Telling::turn_done:
        journal_->came(position);
        return {};
    case Telling::work_done:
        return {};
    case Telling::turn_given:
        return journal_->ensure_written(position);
    case Telling::work_given:
        DURABLE_TRY(journal_->ensure_durable(made_by(given)));
        return journal_->ensure_written(position);
    case Telling::done_passed:
        journal_->give_way(position);
        break;
    case Telling::done:
    case Telling::state:
        break;
    }
    return journal_->ensure_durable(position);
}

void FsProvider::ring_once_safe(const MutexLock& lock,
                                std::uint64_t position,
                                const std::shared_ptr<Bell>& bell) {
    if (!journal_->ring_once_durable(position, bell)) {
        lock.ring_later(bell);
    }
}

Lsn FsProvider::made_by(ledger::Seq seq) {
    const MutexLock lock{made_mutex_};
    const auto found =
        std::ranges::find_if(made_, [&](const Made& made) { return seq < made.next_seq; });
    return found == made_.end() ? 0 : found->lsn;
}

void FsProvider::keep_house() {
    do {
        if (journal_->wants_spare()) {
            (void)journal_->prepare_spare(); // a full disk is told to whoever needs the space
        }
        // Without threads each call does one piece, so that changes come in between there too.
    } while (!closing_.load() && work() && machine_.threads);
}

// One piece of what is in progress or due: a pack is finished before a checkpoint is begun, so that
// a checkpoint never sees half of one.
bool FsProvider::work() {
    const std::unique_lock house{house_mutex_, std::try_to_lock};
    if (!house) {
        return false;
    }
    drop_spare_copies();
    if (packing_) {
        return work_on_pack();
    }
    if (checkpoint_ || journal_->bytes() >= checkpoint_at_.load()) {
        return work_on_checkpoint();
    }
    if (packing_due_.load() && work_on_pack()) {
        return true;
    }
    return views_due_.load() && work_on_views();
}

} // namespace durable::fs
