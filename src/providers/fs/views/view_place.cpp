#include "providers/fs/views/view_place.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/files/store_parts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace durable::fs {

namespace {

// No encoded id has a capital letter.
constexpr std::string_view list_name = "VIEWS";
constexpr std::string_view of_store = "views of "; // its path follows

bool is_file_of(const DirectoryEntry& entry, std::string_view name) {
    return !entry.is_directory &&
           (entry.name == name || entry.name.starts_with(std::string{name} + ".tmp."));
}

bool is_execution(std::string_view name) {
    constexpr std::string_view prefix = "exec_";
    return name.starts_with(prefix) && name.size() > prefix.size() &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

// A file in the directory of a view that is no part of a view; empty: there is none.
Result<std::string> stranger_in(Files& files, const std::string& view) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(view)));
    for (const auto& entry : entries) {
        const auto path = view + "/" + entry.name;
        if (!entry.is_directory) {
            if (!is_file_of(entry, "meta.json")) {
                return path;
            }
            continue;
        }
        if (!is_execution(entry.name)) {
            return path;
        }
        DURABLE_TRY_ASSIGN(const auto parts, to_result(files.list(path)));
        for (const auto& part : parts) {
            if (!is_file_of(part, "history.jsonl") && !is_file_of(part, "status.json")) {
                return path + "/" + part.name;
            }
        }
    }
    return std::string{};
}

Result<bool> same_place(Files& files, const std::string& one, const std::string& other) {
    DURABLE_TRY_ASSIGN(const auto path_of_one, to_result(files.resolve(one)));
    DURABLE_TRY_ASSIGN(const auto path_of_other, to_result(files.resolve(other)));
    const auto status_of_one = files.status(path_of_one);
    const auto status_of_other = files.status(path_of_other);
    return path_of_one == path_of_other ||
           (status_of_one && status_of_other && status_of_one->same_as(*status_of_other));
}

// One line, also when the path contains line ends.
Result<std::string> first_line(Files& files, const std::string& store) {
    constexpr std::string_view digits = "0123456789abcdef";
    DURABLE_TRY_ASSIGN(const auto path, to_result(files.resolve(store)));
    std::string line{of_store};
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= ' ' && c != '%') {
            line += c;
        } else {
            line += {'%', digits[byte >> 4U], digits[byte & 0xFU]};
        }
    }
    return line;
}

} // namespace

Result<ViewPlace>
ViewPlace::open(Files& files, const std::string& store, const std::string& target) {
    DURABLE_TRY_ASSIGN(const bool own, same_place(files, target, StoreLayout{store}.instances()));
    if (!own) {
        DURABLE_TRY_ASSIGN(const bool inside, lies_in_store(files, target, store));
        if (inside) {
            return fail(ErrorCode::invalid_argument,
                        target + " lies inside the store: use " + StoreLayout{store}.instances() +
                            " or a place outside");
        }
    }
    if (!files.list(target)) {
        if (const auto made = make_directories(files, target); !made) {
            return made.error().out_of_resources()
                       ? std::unexpected{to_error(made.error())}
                       : fail(ErrorCode::invalid_argument, made.error().text);
        }
    }
    ViewPlace place{files, target};
    if (!own) {
        DURABLE_TRY_ASSIGN(place.first_line_, first_line(files, store));
        DURABLE_TRY(place.read_list());
    }
    DURABLE_TRY(place.check_entries(own));
    if (!own) {
        DURABLE_TRY(place.remove_leftovers());
        DURABLE_TRY(place.write_list(place.announced_));
    }
    return place;
}

std::string ViewPlace::list_path() const {
    return target_ + "/" + std::string{list_name};
}

Result<> ViewPlace::read_list() {
    const auto text = read_file(files_, list_path());
    if (!text) {
        return text.error().code == std::errc::no_such_file_or_directory
                   ? Result<>{}
                   : std::unexpected{to_error(text.error())};
    }
    std::string_view rest = *text;
    bool first = true;
    // A line without its end is a torn write: its view was not begun.
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        const auto line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (!std::exchange(first, false)) {
            announced_.emplace(line);
        } else if (line != first_line_) {
            return fail(ErrorCode::invalid_argument,
                        line.starts_with(of_store)
                            ? target_ + " holds " + std::string{line} + ", another store"
                            : list_path() + " is not a list of views");
        }
    }
    return {};
}

Result<> ViewPlace::check_entries(bool own) const {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(target_)));
    const auto refuse = [&](const std::string& path) {
        return fail(ErrorCode::invalid_argument,
                    target_ + " holds something else than views of this store: " + path +
                        "; nothing was changed");
    };
    for (const auto& entry : entries) {
        if (!own && is_file_of(entry, list_name)) {
            continue;
        }
        if (!entry.is_directory || (!own && !announced_.contains(entry.name))) {
            return refuse(entry.name);
        }
        DURABLE_TRY_ASSIGN(const auto stranger, stranger_in(files_, target_ + "/" + entry.name));
        if (!stranger.empty()) {
            return refuse(stranger.substr(target_.size() + 1));
        }
    }
    return {};
}

// Removes temporary lists that a crash has left.
Result<> ViewPlace::remove_leftovers() {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(target_)));
    for (const auto& entry : entries) {
        if (is_file_of(entry, list_name) && entry.name != list_name) {
            DURABLE_TRY(to_result(files_.remove(target_ + "/" + entry.name)));
        }
    }
    return {};
}

Result<> ViewPlace::announce(const std::vector<std::string>& names) {
    if (first_line_.empty()) {
        return {};
    }
    std::string lines;
    for (const auto& name : names) {
        if (announced_.insert(name).second) {
            lines += name + "\n";
        }
    }
    DURABLE_TRY(to_result(write_at(*list_, lines, list_size_)));
    list_size_ += lines.size();
    return lines.empty() ? Result<>{} : to_result(list_->sync());
}

Result<std::uint64_t> ViewPlace::keep_only(const std::unordered_set<std::string>& names) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(target_)));
    std::uint64_t removed = 0;
    for (const auto& entry : entries) {
        const bool view = first_line_.empty() || announced_.contains(entry.name);
        if (view && !names.contains(entry.name)) {
            DURABLE_TRY(to_result(remove_tree(files_, target_ + "/" + entry.name)));
            ++removed;
        }
    }
    if (!first_line_.empty()) {
        DURABLE_TRY(to_result(files_.sync_directory(target_)));
        DURABLE_TRY(write_list(names));
    }
    return removed;
}

Result<> ViewPlace::write_list(const std::unordered_set<std::string>& names) {
    std::vector<std::string_view> sorted{names.begin(), names.end()};
    std::ranges::sort(sorted);
    std::string text = first_line_ + "\n";
    for (const auto name : sorted) {
        text.append(name) += '\n';
    }
    DURABLE_TRY(to_result(replace_file(files_, list_path(), text)));
    DURABLE_TRY_ASSIGN(list_, to_result(files_.open(list_path(), OpenMode::write)));
    list_size_ = text.size();
    return {};
}

} // namespace durable::fs
