// The archive of FsProvider: packed instances are brought back when somebody looks for them.

#include "base/try.hpp"
#include "providers/fs/frame.hpp"
#include "providers/fs/fs_error.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/image_codec.hpp"
#include "providers/ledger/queueing.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace durable::fs {

// ---- Bringing back

// A read may be repeated, unlike a sync: the second one decides.
Result<ledger::InstanceImage> FsProvider::read_line(const Pack& pack, std::uint32_t line) {
    const auto read = [&] {
        const auto at = pack.begin_of(line);
        return read_pack_frame(
            files_, directory_.packs(), pack.record.number, at, pack.ends[line] - at);
    };
    auto frame = read();
    if (!frame && frame.error().code != ErrorCode::corrupt) {
        frame = read();
    }
    DURABLE_TRY(frame);
    return decode_image(*read_frame(*frame));
}

// The instance of that line, unless it is another one than wanted or here already.
void FsProvider::bring_line(PackPlace place, std::optional<std::string_view> wanted) {
    const auto pack = packs_.find_pack(place.pack);
    auto image = read_line(*pack, place.line);
    if (!image) {
        unreadable_ = std::move(image).error();
        return;
    }
    if ((wanted && image->id != *wanted) || ledger_.instances.find_here(image->id) != nullptr) {
        return;
    }
    arrivals_.emplace_back(++next_arrival_, image->id);
    copies_.insert_or_assign(image->id, Copy{.place = place, .arrival = next_arrival_});
    ledger_.bring_back(*std::move(image));
    if (copies_.size() > machine_.most_copies) {
        packing_due_.store(true, std::memory_order_relaxed);
    }
}

void FsProvider::bring(std::string_view id) {
    mutex_.assert_held();
    for (const auto place : packs_.candidates(id)) {
        bring_line(place, id);
    }
}

void FsProvider::bring_children(std::string_view parent) {
    mutex_.assert_held();
    for (const auto place : packs_.children_of(parent)) {
        bring_line(place, std::nullopt);
    }
}

Result<> FsProvider::looked() {
    if (unreadable_) {
        auto error = *std::exchange(unreadable_, std::nullopt);
        return std::unexpected{std::move(error)};
    }
    return {};
}

Result<std::vector<std::string>> FsProvider::bring_touched(const ledger::Record& record) {
    if (packs_.empty() && !packing_begun_) {
        return std::vector<std::string>{};
    }
    auto ids = ledger::touched(ledger_, record);
    for (const auto& id : ids) {
        (void)ledger_.instances.find(id);
        DURABLE_TRY(looked());
    }
    return ids;
}

void FsProvider::forget_copies(const std::vector<std::string>& ids) {
    for (const auto& id : ids) {
        auto* instance = ledger_.instances.find_here(id);
        if (instance == nullptr || instance->copy == ledger::Instance::Copy::none) {
            continue;
        }
        instance->copy = ledger::Instance::Copy::none;
        if (const auto copy = copies_.find(id); copy != copies_.end()) {
            packs_.kill(copy->second.place, id);
            ++killed_;
            copies_.erase(copy);
        }
    }
}

// They can be read again: memory is for live work.
void FsProvider::drop_spare_copies() {
    constexpr int most_at_once = 256;
    const MutexLock lock{mutex_};
    // Those that have changed since are no copies any more.
    const auto spare = [&] {
        mutex_.assert_held();
        return copies_.size() > machine_.most_copies || arrivals_.size() > 2 * copies_.size();
    };
    for (int looked_at = 0; looked_at < most_at_once && !arrivals_.empty() && spare();
         ++looked_at) {
        const auto [arrival, id] = std::move(arrivals_.front());
        arrivals_.pop_front();
        const auto copy = copies_.find(id);
        if (copy == copies_.end() || copy->second.arrival != arrival) {
            continue;
        }
        if (copies_.size() <= machine_.most_copies) {
            arrivals_.emplace_back(arrival, id); // stays
            continue;
        }
        if (auto* instance = ledger_.instances.find_here(id); instance != nullptr) {
            ledger_.set_aside(*instance);
        }
        copies_.erase(copy);
    }
    applied();
}

// ---- Opening

Result<> FsProvider::load_pack(const PackRecord& record) {
    if (record.number == 0 || record.number > UINT32_MAX || record.instances > UINT32_MAX ||
        (!record.dead.empty() && record.dead.back() >= record.instances)) {
        return fail(ErrorCode::corrupt, directory_.checkpoint() + ": this is no pack");
    }
    DURABLE_TRY_ASSIGN(const auto lines, read_pack_index(files_, directory_.packs(), record));
    packs_.add_pack(record, lines);
    auto dead = record.dead.begin();
    for (std::uint32_t line = 0; line < lines.size(); ++line) {
        if (dead != record.dead.end() && *dead == line) {
            ++dead;
            continue;
        }
        const auto& said = lines[line];
        packs_.revive({.pack = static_cast<std::uint32_t>(record.number), .line = line}, said.id);
        ledger_.count_archived(said.status, said.executions, said.events);
    }
    return {};
}

// A pack that no checkpoint names holds what the journal still has.
Result<> FsProvider::remove_unnamed_packs() {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(directory_.packs())));
    for (const auto& entry : entries) {
        const auto number = pack_number(entry.name);
        if (number == 0) {
            continue;
        }
        packs_.use_number(number);
        if (packs_.find_pack(static_cast<std::uint32_t>(number)) == nullptr) {
            DURABLE_TRY(to_result(files_.remove(directory_.packs() + "/" + entry.name)));
        }
    }
    return {};
}

std::string FsProvider::pack_frames() const {
    std::string frames;
    for (const auto& record : packs_.records()) {
        const auto begin = begin_frame(frames);
        encode_pack_record(frames, record);
        end_frame(frames, begin);
    }
    return frames;
}

// ---- Listing

std::vector<FsProvider::PackView> FsProvider::view_packs() const {
    std::vector<PackView> views;
    for (const auto& [number, pack] : packs_.packs()) {
        views.push_back({.pack = pack, .live = pack->live});
    }
    return views;
}

// fn(line) -> bool, until it says false. Files of packs in the view stay as long as it does.
template <class Fn>
Result<> FsProvider::for_each_line(const std::vector<PackView>& packs, Fn fn) {
    for (const auto& [pack, live] : packs) {
        DURABLE_TRY_ASSIGN(auto lines, read_pack_index(files_, directory_.packs(), pack->record));
        for (std::size_t line = 0; line < lines.size(); ++line) {
            if (live[line] && !fn(lines[line])) {
                return {};
            }
        }
    }
    return {};
}

Result<std::vector<std::string>>
FsProvider::list(std::string_view operation, std::optional<ExecutionStatus> status, bool all) {
    std::vector<std::pair<std::uint64_t, std::string>> found; // by number
    std::vector<PackView> packs;
    std::uint64_t reached = 0;
    {
        const MutexLock lock{mutex_};
        for (const auto listed : {std::optional{ExecutionStatus::running},
                                  std::optional{ExecutionStatus::completed},
                                  std::optional{ExecutionStatus::failed},
                                  std::optional{ExecutionStatus::continued_as_new},
                                  std::optional<ExecutionStatus>{}}) {
            if (!all && listed != status) {
                continue;
            }
            for (const auto* instance : ledger_.instances.with_status(listed)) {
                if (instance->copy != ledger::Instance::Copy::made) {
                    found.emplace_back(instance->number, *instance->id);
                }
            }
        }
        packs = view_packs();
        reached = position();
    }
    if (auto safe = settle(Telling::state, reached, 0); !safe) {
        return ledger::failed(std::move(safe).error(), operation);
    }
    auto read = for_each_line(packs, [&](PackLine& line) {
        if (all || status == line.status) {
            found.emplace_back(line.number, std::move(line.id));
        }
        return true;
    });
    if (!read) {
        return ledger::failed(std::move(read).error(), operation);
    }
    std::ranges::sort(found, std::ranges::greater{}, &std::pair<std::uint64_t, std::string>::first);
    std::vector<std::string> ids;
    ids.reserve(found.size());
    for (auto& [number, id] : found) {
        ids.push_back(std::move(id));
    }
    return ids;
}

Result<std::vector<std::string>> FsProvider::list_instances() {
    return list("list_instances", std::nullopt, true);
}

Result<std::vector<std::string>> FsProvider::list_instances_by_status(const std::string& status) {
    const auto parsed = parse_execution_status(status);
    if (!parsed && status != "Unknown") {
        return std::vector<std::string>{};
    }
    return list("list_instances_by_status", parsed, false);
}

Result<std::vector<std::string>>
FsProvider::archived(const InstanceFilter& filter, bool roots, std::size_t limit) {
    std::vector<PackView> packs;
    {
        const MutexLock lock{mutex_};
        packs = view_packs();
    }
    std::vector<std::string> ids;
    std::size_t sure = 0; // children may turn out not to count
    DURABLE_TRY(for_each_line(packs, [&](PackLine& line) {
        if (!filter.completed_before ||
            (line.completed_at && *line.completed_at < *filter.completed_before)) {
            sure += roots && line.parent ? 0U : 1U;
            ids.push_back(std::move(line.id));
        }
        return sure < limit;
    }));
    return ids;
}

} // namespace durable::fs
