// export_views: the views of a store that nobody has open.

#include "base/try.hpp"
#include "providers/fs/fs_error.hpp"
#include "providers/fs/store_directory.hpp"
#include "providers/fs/verify.hpp"
#include "providers/fs/views.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <unordered_set>
#include <utility>

namespace durable::fs {

namespace {

// A view, or the very beginning of one that was interrupted.
bool holds_view(Files& files, const std::string& directory, const DirectoryEntry& entry) {
    const auto content = files.list(directory + "/" + entry.name);
    return entry.is_directory && content &&
           (content->empty() || content->front().name.starts_with("meta.json") ||
            std::ranges::any_of(
                *content, [](const DirectoryEntry& file) { return file.name == "meta.json"; }));
}

// Only what this made before may be replaced. Inside the store there is one place for views.
Result<> require_place(Files& files, const std::string& store, const std::string& target) {
    const auto inside = std::filesystem::path{target}.lexically_normal().lexically_relative(
        std::filesystem::path{store}.lexically_normal());
    if (!inside.empty() && *inside.begin() != ".." && inside != "instances" &&
        inside != "instances/") {
        return fail(ErrorCode::invalid_argument,
                    target + " lies inside the store: use " + StoreLayout{store}.instances() +
                        " or a place outside");
    }
    const auto entries = files.list(target);
    if (!entries) {
        const auto made = make_directories(files, target);
        return made || made.error().out_of_resources()
                   ? to_result(made)
                   : fail(ErrorCode::invalid_argument, made.error().text);
    }
    for (const auto& entry : *entries) {
        if (!holds_view(files, target, entry)) {
            return fail(ErrorCode::invalid_argument,
                        target + " holds something else than views: " + entry.name);
        }
    }
    return {};
}

class Exporter {
 public:
    Exporter(Files& files, LoadedStore& store, const std::string& packs, std::string target)
        : files_{files}, store_{store}, packs_{packs}, target_{std::move(target)} {}

    Result<Export> all() {
        Result<> written;
        store_.ledger->instances.for_each([&](const ledger::Instance& instance) {
            if (written && instance.copy != ledger::Instance::Copy::made) {
                written = write(ledger::image_of(instance));
            }
        });
        DURABLE_TRY(written);
        for (const auto& [number, pack] : store_.archive->packs.packs()) {
            for (std::uint32_t line = 0; line < pack->live.size(); ++line) {
                if (pack->live[line]) {
                    DURABLE_TRY_ASSIGN(
                        auto image,
                        PackArchive::read(files_,
                                          packs_,
                                          {.place = {.pack = number, .line = line}, .pack = pack}));
                    DURABLE_TRY(write(image));
                }
            }
        }
        DURABLE_TRY(remove_others());
        return done_;
    }

    Result<Export> some(const std::vector<std::string>& ids) {
        for (const auto& id : ids) {
            const auto* instance = store_.ledger->instances.find(id);
            DURABLE_TRY(store_.archive->looked());
            if (instance == nullptr) {
                return fail(ErrorCode::not_found, "the store has no instance \"" + id + "\"");
            }
            DURABLE_TRY(write(ledger::image_of(*instance)));
        }
        return done_;
    }

 private:
    Result<> write(const ledger::InstanceImage& image) {
        DURABLE_TRY(write_view(files_, target_, image, store_.end.last));
        names_.insert(encode_id(image.id));
        ++done_.written;
        return {};
    }

    Result<> remove_others() {
        DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(target_)));
        for (const auto& entry : entries) {
            if (!names_.contains(entry.name)) {
                DURABLE_TRY(to_result(remove_tree(files_, target_ + "/" + entry.name)));
                ++done_.removed;
            }
        }
        return {};
    }

    Files& files_;
    LoadedStore& store_;
    const std::string packs_;
    const std::string target_;
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
    DURABLE_TRY(require_place(files, store, target));
    Exporter exporter{files, loaded, StoreLayout{store}.packs(), target};
    return instances.empty() ? exporter.all() : exporter.some(instances);
}

} // namespace durable::fs
