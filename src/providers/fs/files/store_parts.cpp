#include "providers/fs/files/store_parts.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"

#include <algorithm>

namespace durable::fs {

bool is_part(const std::string& store, const DirectoryEntry& entry) {
    const StoreLayout layout{store};
    const auto path = store + "/" + entry.name;
    return entry.is_directory &&
           (path == layout.journal() || path == layout.checkpoint() || path == layout.packs() ||
            path == layout.instances() || path == layout.quarantine());
}

bool is_empty_part(Files& files, const std::string& store, const DirectoryEntry& entry) {
    if (!is_part(store, entry)) {
        return false;
    }
    const auto content = files.list(store + "/" + entry.name);
    return content && content->empty();
}

Result<bool> lies_in_store(Files& files, const std::string& path, const std::string& store) {
    const StoreLayout layout{store};
    for (const auto& directory : {layout.path,
                                  layout.journal(),
                                  layout.checkpoint(),
                                  layout.packs(),
                                  layout.instances(),
                                  layout.quarantine()}) {
        const auto inside = lies_within(files, path, directory);
        if (!inside && inside.error().code == std::errc::no_such_file_or_directory) {
            continue; // the part is missing
        }
        DURABLE_TRY_ASSIGN(const bool found, to_result(inside));
        if (found) {
            return true;
        }
    }
    return false;
}

Result<> require_journal(Files& files, const std::string& store) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(store)));
    const auto part = [&](const DirectoryEntry& entry) { return is_part(store, entry); };
    const auto journal = [&](const DirectoryEntry& entry) {
        return part(entry) && store + "/" + entry.name == StoreLayout{store}.journal();
    };
    if (std::ranges::any_of(entries, part) && std::ranges::none_of(entries, journal)) {
        return fail(ErrorCode::corrupt, StoreLayout{store}.journal() + " is missing");
    }
    return {};
}

} // namespace durable::fs
