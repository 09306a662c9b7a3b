// Packs of FsProvider: moves settled instances (ledger/image.hpp) from memory into packs, and
// rewrites packs with dead lines, piece by piece beside the calls.
//
// A pack is written from the ledger's state and synced; only then are its instances taken out of
// memory. It is part of the store from the next checkpoint on, which names it. Until then recovery
// uses the journal and the packs that the last checkpoint names.

#include "base/try.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/image_codec.hpp"
#include "providers/fs/fs_provider.hpp"

#include <algorithm>
#include <utility>

namespace durable::fs {

namespace {

constexpr std::uint64_t least_pack = 1U << 16U;   // packs below a quarter of it are small
constexpr std::uint64_t killed_before_look = 256; // dead lines, before packs are checked
constexpr std::size_t installed_at_once = 256;

} // namespace

// Notes whether packing is due.
void FsProvider::applied() {
    const auto settled = ledger_.any_settled() && ledger_.settled_bytes() >= machine_.pack_bytes &&
                         journal_->bytes() >= packing_from_.load();
    const auto wasted = killed_ >= (machine_.pack_bytes == 0 ? 1 : killed_before_look);
    packing_due_.store(settled || wasted || packing_begun_ ||
                           archive_.copies() > machine_.most_copies,
                       std::memory_order_relaxed);
}

bool FsProvider::work_on_pack() {
    const auto more = pack_piece();
    if (more) {
        return *more;
    }
    // Nothing is lost; only memory is not freed yet. Tries again, but not at once.
    drop_packing();
    packing_from_.store(journal_->bytes() + machine_.checkpoint_bytes / 4);
    const MutexLock lock{mutex_};
    applied();
    return false;
}

Result<bool> FsProvider::pack_piece() {
    if (!packing_) {
        return begin_packing();
    }
    if (packing_->finished) {
        return install_some();
    }
    DURABLE_TRY_ASSIGN(const auto more,
                       packing_->sources.empty() ? gather_settled() : gather_lines());
    if (more) {
        return true;
    }
    if (packing_->writer.lines().empty()) {
        drop_packing();
        const MutexLock lock{mutex_};
        applied();
        return false;
    }
    // A pack must not be ahead of its journal: recovery uses the journal until a checkpoint names
    // the pack.
    DURABLE_TRY(journal_->ensure_synced(journal_->last()));
    DURABLE_TRY_ASSIGN(packing_->finished, packing_->writer.finish());
    return true;
}

Result<bool> FsProvider::begin_packing() {
    std::uint32_t number = 0;
    std::vector<std::uint32_t> sources;
    {
        const MutexLock lock{mutex_};
        for (auto& dead : archive_.packs.take_dead()) {
            obsolete_.push_back(std::move(dead));
        }
        const auto settled = ledger_.any_settled() &&
                             ledger_.settled_bytes() >= machine_.pack_bytes &&
                             journal_->bytes() >= packing_from_.load();
        if (!settled) {
            killed_ = 0;
            sources = archive_.packs.worth_compacting(std::max(machine_.pack_bytes, least_pack),
                                                      machine_.small_packs);
        }
        if (!settled && sources.empty()) {
            applied();
            return false;
        }
        number = archive_.packs.next_number();
        archive_.packs.use_number(number);
        packing_begun_ = true;
        packing_due_.store(true);
    }
    auto writer = PackWriter::begin(files_, directory_.packs(), number);
    if (!writer) {
        const MutexLock lock{mutex_};
        packing_begun_ = false;
        return std::unexpected{std::move(writer).error()};
    }
    packing_.emplace(Packing{.writer = *std::move(writer), .sources = std::move(sources)});
    return true;
}

// Encodes instances of the ledger, under the mutex. False: that was the last.
Result<bool> FsProvider::gather_settled() {
    std::string frames;
    std::vector<PackLine> lines;
    bool more = true;
    {
        const MutexLock lock{mutex_};
        while (more && frames.size() <= machine_.checkpoint_piece) {
            auto* instance = ledger_.take_settled();
            if (instance == nullptr) {
                more = false;
                break;
            }
            const auto image = ledger::image_of(*instance);
            const auto begin = frames.size();
            DURABLE_TRY(
                append_frame(frames, [&](std::string& out) { return encode_image(out, image); }));
            lines.push_back(line_of(image, frames.size() - begin));
            instance->copy = ledger::Instance::Copy::being_made;
            more = packing_->writer.bytes() + frames.size() < machine_.pack_bytes;
        }
    }
    packing_->places.resize(packing_->places.size() + lines.size());
    DURABLE_TRY(packing_->writer.add(frames, std::move(lines)));
    return more;
}

// Copies live lines of other packs. False: that was the last.
Result<bool> FsProvider::gather_lines() {
    auto& job = *packing_;
    std::string frames;
    std::vector<PackLine> lines;
    while (job.source < job.sources.size() && frames.size() <= machine_.checkpoint_piece) {
        const auto number = job.sources[job.source];
        std::shared_ptr<const Pack> pack;
        std::vector<bool> live;
        {
            const MutexLock lock{mutex_};
            pack = archive_.packs.find_pack(number);
            live = pack->live;
        }
        if (job.line == 0) {
            auto read = read_pack_index(files_, directory_.packs(), pack->record);
            if (!read) {
                const MutexLock lock{mutex_};
                archive_.packs.set_damaged(number);
                return std::unexpected{std::move(read).error()};
            }
            job.lines = *std::move(read);
        }
        for (; job.line < job.lines.size() && frames.size() <= machine_.checkpoint_piece;
             ++job.line) {
            const auto line = static_cast<std::uint32_t>(job.line);
            if (!live[line]) {
                continue;
            }
            const auto at = pack->begin_of(line);
            auto frame =
                read_pack_frame(files_, directory_.packs(), number, at, pack->ends[line] - at);
            if (!frame) {
                const MutexLock lock{mutex_};
                archive_.packs.set_damaged(number);
                return std::unexpected{std::move(frame).error()};
            }
            frames += *frame;
            lines.push_back(job.lines[line]);
            job.places.push_back({.pack = number, .line = line});
        }
        if (job.line == job.lines.size()) {
            ++job.source;
            job.line = 0;
        }
    }
    DURABLE_TRY(job.writer.add(frames, std::move(lines)));
    return job.source < job.sources.size();
}

// From here on instances are read from the pack.
bool FsProvider::install_some() {
    auto& job = *packing_;
    const auto& lines = job.writer.lines();
    const MutexLock lock{mutex_};
    if (job.installed == 0) {
        archive_.packs.add_pack(*job.finished, lines);
    }
    const auto number = static_cast<std::uint32_t>(job.finished->number);
    const auto end = std::min(lines.size(), job.installed + installed_at_once);
    for (; job.installed < end; ++job.installed) {
        install_line({.pack = number, .line = static_cast<std::uint32_t>(job.installed)},
                     lines[job.installed]);
    }
    if (job.installed < lines.size()) {
        return true;
    }
    packing_.reset();
    packing_begun_ = false;
    std::uint64_t waste = 0;
    for (auto& dead : archive_.packs.take_dead()) {
        obsolete_.push_back(std::move(dead));
    }
    for (const auto& pack : obsolete_) {
        waste += pack->record.bytes;
    }
    if (waste > machine_.checkpoint_bytes) {
        checkpoint_at_.store(0); // the checkpoint then frees their files
    }
    killed_ += killed_before_look; // check the packs: many may be small now
    applied();
    return packing_due_.load();
}

void FsProvider::install_line(PackPlace place, const PackLine& line) {
    const auto from = packing_->places[place.line];
    if (from.pack == 0) {
        auto* instance = ledger_.instances.find_here(line.id);
        if (instance != nullptr && instance->copy == ledger::Instance::Copy::being_made) {
            instance->copy = ledger::Instance::Copy::made;
            ledger_.set_aside(*instance);
            archive_.packs.revive(place, line.id);
        }
        return;
    }
    if (archive_.packs.live(from)) {
        archive_.packs.kill(from, line.id);
        archive_.packs.revive(place, line.id);
        archive_.move_copy(line.id, place);
    }
}

// Installed instances stay installed; the others stay where they were.
void FsProvider::drop_packing() {
    if (!packing_) {
        return;
    }
    const MutexLock lock{mutex_};
    const auto& lines = packing_->writer.lines();
    for (auto line = packing_->installed; line < lines.size(); ++line) {
        auto* instance = packing_->places[line].pack == 0
                             ? ledger_.instances.find_here(lines[line].id)
                             : nullptr;
        if (instance != nullptr && instance->copy == ledger::Instance::Copy::being_made) {
            instance->copy = ledger::Instance::Copy::none;
            ledger_.note_settled(*instance);
        }
    }
    packing_.reset();
    packing_begun_ = false;
}

// Called after a checkpoint that does not name them. Skips a pack that a call still reads.
void FsProvider::remove_obsolete_packs() {
    std::erase_if(obsolete_, [&](const std::shared_ptr<const Pack>& pack) {
        const auto path = pack_path(directory_.packs(), pack->record.number);
        return pack.use_count() == 1 && remove_gradually(files_, path).has_value();
    });
}

} // namespace durable::fs
