// Readable views of FsProvider (options.readable_views): written beside the calls, some at a time.
//
// A call notes the instances that it changes; the housekeeper takes their current state and writes
// it. An instance that changes often is written once for many changes.

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/views/views.hpp"

#include <cstddef>
#include <unordered_set>
#include <utility>

namespace durable::fs {

namespace {

constexpr std::size_t views_at_once = 32;

} // namespace

void FsProvider::note_views(const std::vector<std::string>& changing) {
    if (options_.readable_views) {
        unseen_.insert(changing.begin(), changing.end());
        views_due_.store(true, std::memory_order_relaxed);
    }
}

// After an error the views are only older: the next call tries again.
bool FsProvider::work_on_views() {
    const auto more = views_begun_ ? write_views() : begin_views();
    return more.value_or(false);
}

// Existing views are untrusted: rebuilds all, removes strays.
Result<bool> FsProvider::begin_views() {
    std::vector<std::string> ids;
    std::vector<PackView> packs;
    {
        const MutexLock lock{mutex_};
        ledger_.instances.for_each(
            [&](const ledger::Instance& instance) { ids.emplace_back(instance.id()); });
        packs = view_packs();
    }
    DURABLE_TRY(for_each_line(packs, [&](PackLine& line) {
        ids.push_back(std::move(line.id));
        return true;
    }));
    std::unordered_set<std::string> names;
    for (const auto& id : ids) {
        names.insert(encode_id(id));
    }
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(directory_.instances())));
    for (const auto& entry : entries) {
        // A symbolic link in place of a view would redirect the writes.
        if (entry.is_directory != names.contains(entry.name)) {
            DURABLE_TRY(to_result(remove_tree(files_, directory_.instances() + "/" + entry.name)));
        }
    }
    const MutexLock lock{mutex_};
    unseen_.insert(ids.begin(), ids.end());
    views_begun_ = true;
    return !unseen_.empty();
}

Result<bool> FsProvider::write_views() {
    std::vector<View> views;
    Lsn as_of = 0;
    bool more = false;
    {
        const MutexLock lock{mutex_};
        for (auto id = unseen_.begin(); id != unseen_.end() && views.size() < views_at_once;) {
            views.push_back(view_of(*id));
            id = unseen_.erase(id);
        }
        as_of = journal_->last();
        more = !unseen_.empty();
        views_due_.store(more, std::memory_order_relaxed);
    }
    for (std::size_t done = 0; done < views.size(); ++done) {
        if (auto written = write_one(views[done], as_of); !written) {
            const MutexLock lock{mutex_};
            for (; done < views.size(); ++done) {
                unseen_.insert(std::move(views[done].id));
            }
            views_due_.store(true, std::memory_order_relaxed);
            return std::unexpected{std::move(written).error()};
        }
    }
    return more;
}

FsProvider::View FsProvider::view_of(const std::string& id) {
    View view{.id = id, .image = std::nullopt, .packed = {}};
    if (const auto* instance = ledger_.instances.find_here(id); instance != nullptr) {
        view.image = ledger::image_of(*instance);
        return view;
    }
    for (const auto place : archive_.packs.candidates(id)) {
        view.packed.push_back({.place = place, .pack = archive_.packs.find_pack(place.pack)});
    }
    return view;
}

// P12: a state is durable before it leaves the process, also in a view.
Result<> FsProvider::write_one(const View& view, Lsn as_of) {
    DURABLE_TRY(journal_->ensure_durable(as_of));
    if (view.image) {
        return write_view(files_, directory_.instances(), *view.image, as_of);
    }
    for (const auto& wanted : view.packed) {
        DURABLE_TRY_ASSIGN(const auto image, PackArchive::read(files_, directory_.packs(), wanted));
        if (image.id == view.id) {
            return write_view(files_, directory_.instances(), image, as_of);
        }
    }
    return remove_view(files_, directory_.instances(), view.id);
}

// Brings the views up to date when the store is closed.
void FsProvider::finish_views() {
    if (!options_.readable_views || (!views_begun_ && !begin_views())) {
        return;
    }
    for (auto more = write_views(); more && *more; more = write_views()) {
    }
}

} // namespace durable::fs
