// The archive of FsProvider: brings packed instances back when a call looks them up.

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/ledger/queueing.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace durable::fs {

// ---- Bringing back

// Reads lines of packs without the mutex.
class FsProvider::DeferredPackRead final : public ledger::DeferredRead {
 public:
    DeferredPackRead(FsProvider& store, std::vector<PackArchive::Wanted> wanted)
        : store_{store}, wanted_{std::move(wanted)} {
        ++store_.deferred_reads_;
    }
    ~DeferredPackRead() override { --store_.deferred_reads_; }

    Result<> run() override {
        constexpr std::size_t installed_at_once = 64;
        std::vector<std::pair<PackPlace, ledger::InstanceImage>> read;
        for (const auto& wanted : wanted_) {
            DURABLE_TRY_ASSIGN(auto image,
                               PackArchive::read(store_.files_, store_.directory_.packs(), wanted));
            read.emplace_back(wanted.place, std::move(image));
            if (read.size() == installed_at_once) {
                install(read);
            }
        }
        install(read);
        wanted_.clear(); // their files may be removed from now on
        return {};
    }

 private:
    void install(std::vector<std::pair<PackPlace, ledger::InstanceImage>>& read) {
        const MutexLock lock{store_.mutex_};
        for (auto& [place, image] : read) {
            store_.archive_.install(place, std::move(image));
        }
        store_.applied(); // there may be too many copies now
        read.clear();
    }

    FsProvider& store_;
    std::vector<PackArchive::Wanted> wanted_;
};

void FsProvider::defer_reads() {
    archive_.defer_reads();
}

std::unique_ptr<ledger::DeferredRead> FsProvider::take_deferred_read() {
    auto wanted = archive_.take_wanted();
    return wanted.empty() ? nullptr : std::make_unique<DeferredPackRead>(*this, std::move(wanted));
}

Result<> FsProvider::looked() {
    DURABLE_TRY(archive_.looked());
    return journal_ ? journal_->working() : Result<>{}; // none during recovery
}

Result<std::vector<std::string>> FsProvider::bring_touched(const ledger::Record& record) {
    if (archive_.packs.empty() && !packing_begun_ && !options_.readable_views) {
        return std::vector<std::string>{};
    }
    return archive_.bring_touched(record);
}

void FsProvider::drop_spare_copies() {
    constexpr std::size_t most_in_use = 1U << 14U; // for a call that looks up many
    const auto in_use = deferred_reads_.load() > 0 ? most_in_use : 0;
    const MutexLock lock{mutex_};
    archive_.drop_copies(std::max(machine_.most_copies, in_use));
    applied();
}

// ---- Opening

// The journal still has the records of packs that no checkpoint names. Their removal is durable on
// return: later the journal may lose these records.
Result<> FsProvider::remove_unnamed_packs() {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(directory_.packs())));
    bool removed = false;
    for (const auto& entry : entries) {
        const auto number = pack_number(entry.name);
        if (number == 0) {
            continue;
        }
        archive_.packs.use_number(number);
        if (archive_.packs.find_pack(static_cast<std::uint32_t>(number)) == nullptr) {
            DURABLE_TRY(to_result(files_.remove(directory_.packs() + "/" + entry.name)));
            removed = true;
        }
    }
    return removed ? to_result(files_.sync_directory(directory_.packs())) : Result<>{};
}

// ---- Listing

std::vector<FsProvider::PackView> FsProvider::view_packs() const {
    std::vector<PackView> views;
    for (const auto& [number, pack] : archive_.packs.packs()) {
        views.push_back({.pack = pack, .live = pack->live});
    }
    return views;
}

Result<> FsProvider::for_each_line(const std::vector<PackView>& packs,
                                   const std::function<bool(PackLine&)>& each) {
    for (const auto& [pack, live] : packs) {
        DURABLE_TRY_ASSIGN(auto lines, read_pack_index(files_, directory_.packs(), pack->record));
        for (std::size_t line = 0; line < lines.size(); ++line) {
            if (live[line] && !each(lines[line])) {
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
        for (const auto listed : ledger::all_statuses) {
            if (!all && listed != status) {
                continue;
            }
            const auto& instances = ledger_.instances.with_status(listed);
            for (std::size_t index = 0; index < instances.size(); ++index) {
                if (instances[index]->copy != ledger::Instance::Copy::made) {
                    found.emplace_back(instances[index]->number, instances[index]->id());
                }
            }
        }
        packs = view_packs();
        reached = position();
    }
    if (auto safe = wait_until_safe(AnswerKind::state, reached, 0); !safe) {
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
    std::size_t sure = 0; // matches for certain; a child may not be a root
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
