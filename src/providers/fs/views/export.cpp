// export_views: the views of a store that no process has open.

#include "base/try.hpp"
#include "providers/fs/checkpoint/load_store.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/views/view_place.hpp"
#include "providers/fs/views/views.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>

namespace durable::fs {

namespace {

class Exporter {
 public:
    Exporter(Files& files,
             LoadedStore& store,
             const std::string& packs,
             ViewPlace& place,
             std::string target)
        : files_{files}, store_{store}, packs_{packs}, place_{place}, target_{std::move(target)} {}

    Result<Export> all() {
        Result<> added;
        store_.ledger->instances.for_each([&](const ledger::Instance& instance) {
            if (added && instance.copy != ledger::Instance::Copy::made) {
                added = add(ledger::image_of(instance));
            }
        });
        DURABLE_TRY(added);
        for (const auto& [number, pack] : store_.archive->packs.packs()) {
            for (std::uint32_t line = 0; line < pack->live.size(); ++line) {
                if (pack->live[line]) {
                    DURABLE_TRY_ASSIGN(
                        auto image,
                        PackArchive::read(files_,
                                          packs_,
                                          {.place = {.pack = number, .line = line}, .pack = pack}));
                    DURABLE_TRY(add(std::move(image)));
                }
            }
        }
        DURABLE_TRY(write());
        DURABLE_TRY_ASSIGN(done_.removed, place_.keep_only(names_));
        return done_;
    }

    Result<Export> some(const std::vector<std::string>& ids) {
        for (const auto& id : ids) {
            const auto* instance = store_.ledger->instances.find(id);
            DURABLE_TRY(store_.archive->looked());
            if (instance == nullptr) {
                return fail(ErrorCode::not_found, "the store has no instance \"" + id + "\"");
            }
            DURABLE_TRY(add(ledger::image_of(*instance)));
        }
        DURABLE_TRY(write());
        return done_;
    }

 private:
    static constexpr std::size_t written_at_once = 256; // one sync of the list of views for all

    Result<> add(ledger::InstanceImage image) {
        images_.push_back(std::move(image));
        return images_.size() < written_at_once ? Result<>{} : write();
    }

    Result<> write() {
        std::vector<std::string> names;
        for (const auto& image : images_) {
            names.push_back(encode_id(image.id));
        }
        DURABLE_TRY(place_.announce(names));
        for (const auto& image : images_) {
            DURABLE_TRY(write_view(files_, target_, image, store_.end.last));
            ++done_.written;
        }
        names_.insert(names.begin(), names.end());
        images_.clear();
        return {};
    }

    Files& files_;
    LoadedStore& store_;
    const std::string packs_;
    ViewPlace& place_;
    const std::string target_;
    std::vector<ledger::InstanceImage> images_; // to be written next
    std::unordered_set<std::string> names_;
    Export done_;
};

} // namespace

Result<Export> export_views(Files& files,
                            const std::string& store,
                            const std::string& target,
                            const std::vector<std::string>& instances,
                            Instant now) {
    DURABLE_TRY(require_store(files, store));
    DURABLE_TRY_ASSIGN(const auto lock, lock_for_reading(files, store));
    DURABLE_TRY(check_format(files, store));
    DURABLE_TRY_ASSIGN(auto loaded, load_store(files, store, now));
    DURABLE_TRY_ASSIGN(auto place, ViewPlace::open(files, store, target));
    Exporter exporter{files, loaded, StoreLayout{store}.packs(), place, target};
    return instances.empty() ? exporter.all() : exporter.some(instances);
}

} // namespace durable::fs
