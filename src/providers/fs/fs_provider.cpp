#include "providers/fs/fs_provider.hpp"

#include "base/try.hpp"
#include "providers/fs/checkpoint/load_store.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_parts.hpp"
#include "providers/fs/format/record_codec.hpp"

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

// Warns of other users that can read the store: one that existed before, or whose file system has
// no permissions.
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
        // A forked child: the threads of these objects run in the parent, which goes on with the
        // files. Joining them, or destroying their condition variables, would wait for ever.
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

// Ignores errors, as no caller is left: acknowledged records are durable already, and leases that
// are not handed over expire.
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
    const StoreLayout layout{directory_.path()};
    DURABLE_TRY_ASSIGN(const auto checkpoint, newest_checkpoint(files_, layout));
    DURABLE_TRY_ASSIGN(
        const auto loaded,
        load_into(ledger_,
                  archive_,
                  files_,
                  layout,
                  checkpoint,
                  clock_->now(),
                  {.gapless = directory_.gapless(), .most_copies = machine_.most_copies}));
    const auto& end = loaded.end;
    // A process that died may not have synced the renaming: it must be durable before records that
    // the checkpoint covers are removed.
    DURABLE_TRY(to_result(files_.sync_directory(directory_.checkpoint())));
    DURABLE_TRY(remove_unnamed_packs());
    DURABLE_TRY(cut_journal(files_, directory_.journal(), end));
    journal_ = std::make_unique<Journal>(files_,
                                         directory_.journal(),
                                         JournalOptions{.durability = options_.durability,
                                                        .writer_thread = machine_.threads,
                                                        .on_failure = [this] { tell_watchers(); },
                                                        .segment_sizes = machine_.segment_sizes},
                                         end);
    // Many small segments, of a store that is opened and closed often, make a checkpoint due as
    // well.
    constexpr std::size_t many_segments = 16;
    const auto due = std::max(machine_.checkpoint_bytes, loaded.checkpoint.bytes);
    const auto replayed = loaded.record_bytes;
    checkpoint_at_.store(end.segments.size() > many_segments || due < replayed ? 0
                                                                               : due - replayed);
    if (const auto& last = loaded.close) {
        // The wall clock may have been set back in between: leases never get longer.
        const auto elapsed = std::max(clock_->now() - last->at, Duration::zero());
        ledger::take_over(ledger_, last->handover, elapsed, now());
    }
    applied(); // finished instances may be packed
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

Result<> FsProvider::wait_until_safe(AnswerKind kind, std::uint64_t position, ledger::Seq given) {
    DURABLE_TRY(at_home());
    if (journal_->wants_spare() || journal_->bytes() >= checkpoint_at_.load() ||
        packing_due_.load(std::memory_order_relaxed) ||
        views_due_.load(std::memory_order_relaxed)) {
        housekeeper_ ? housekeeper_->ask() : keep_house();
    }
    switch (kind) {
    case AnswerKind::turn_done:
        journal_->followed_up(position);
        return {};
    case AnswerKind::work_done:
        return {};
    case AnswerKind::turn_given:
        return journal_->ensure_written(position);
    case AnswerKind::work_given:
        DURABLE_TRY(journal_->ensure_durable(made_by(given)));
        return journal_->ensure_written(position);
    case AnswerKind::done_and_called:
        journal_->wait_for_follow_up(position);
        break;
    case AnswerKind::done:
    case AnswerKind::state:
        break;
    }
    return journal_->ensure_durable(position);
}

void FsProvider::set_once_safe(const MutexLock& lock,
                               std::uint64_t position,
                               const std::shared_ptr<Signal>& signal) {
    if (!journal_->set_once_durable(position, signal)) {
        lock.set_later(signal);
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
            (void)journal_->prepare_spare(); // the call that needs the space reports a full disk
        }
        // Without threads each call does one piece, so that changes come in between as well.
    } while (!closing_.load() && work() && machine_.threads);
}

// One piece of what is in progress or due. A pack is finished before a checkpoint begins: so a
// checkpoint never sees half of a pack.
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
