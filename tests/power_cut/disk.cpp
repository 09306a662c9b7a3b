#include "power_cut/disk.hpp"

#include "base/files.hpp"

#include <algorithm>
#include <stdexcept>

#include <fcntl.h>

namespace durable::power_cut {

namespace {

template <class T>
T must(FileResult<T> result) {
    if (!result) {
        throw std::runtime_error{result.error().text};
    }
    return std::move(result).value();
}

// Those of equal value to the end, in their order.
template <class T, class Where>
void drop_if(std::vector<T>& from, Where where) {
    from.erase(std::remove_if(from.begin(), from.end(), where), from.end());
}

} // namespace

Disk::Disk(const std::string& directory, Lies lies) : lies_{lies} {
    (void)load(directory);
}

Disk::Number Disk::make_node(bool is_directory) {
    nodes_.emplace_back().is_directory = is_directory;
    return nodes_.size() - 1;
}

Disk::Number Disk::load(const std::string& directory) {
    const auto made = make_node(true);
    for (const auto& entry : must(system_files().list(directory))) {
        const auto path = directory + "/" + entry.name;
        Number node = 0;
        if (entry.is_directory) {
            node = load(path);
        } else {
            node = make_node(false);
            nodes_[node].content = must(read_file(system_files(), path));
            nodes_[node].size = nodes_[node].content.size();
        }
        nodes_[made].names[entry.name] = node;
        nodes_[made].names_now[entry.name] = node;
    }
    return made;
}

Disk::Place Disk::place_of(std::string_view path) const {
    Place place;
    for (path.remove_prefix(1);;) {
        const auto slash = path.find('/');
        place.name = path.substr(0, slash);
        if (slash == std::string_view::npos) {
            return place;
        }
        const auto& names = nodes_[place.directory].names_now;
        const auto found = names.find(place.name);
        if (found == names.end() || !nodes_[found->second].is_directory) {
            throw std::runtime_error{"the trace has made no directory " + place.name};
        }
        place.directory = found->second;
        path.remove_prefix(slash + 1);
    }
}

std::optional<Disk::Number> Disk::find(std::string_view path) const {
    if (path == "/") {
        return 0;
    }
    const auto place = place_of(path);
    const auto& names = nodes_[place.directory].names_now;
    const auto found = names.find(place.name);
    return found == names.end() ? std::nullopt : std::optional{found->second};
}

const Disk::OpenFile& Disk::opened(const TraceRecord& record) const {
    const auto found = open_files_.find({record.process, record.fd});
    if (found == open_files_.end()) {
        throw std::runtime_error{"the trace has not opened this: " + describe(record)};
    }
    return found->second;
}

void Disk::take(const TraceRecord& record) {
    const std::pair descriptor{record.process, record.fd};
    const std::pair thread{record.process, record.thread};
    switch (record.call) {
    case Call::open:
        open(record);
        break;
    case Call::close:
        open_files_.erase(descriptor);
        break;
    case Call::duplicate:
        open_files_[{record.process, static_cast<int>(record.offset)}] = opened(record);
        break;
    case Call::write:
    case Call::zeros:
        change(record, Change::Kind::write);
        break;
    case Call::resize:
        change(record, Change::Kind::resize);
        break;
    case Call::allocate:
        change(record, Change::Kind::allocate);
        break;
    case Call::sync_begin:
        syncs_[thread] = {.node = opened(record).node, .position = position_};
        break;
    case Call::sync_end:
        end_sync(record);
        break;
    case Call::rename:
        rename(record);
        break;
    case Call::link:
        set_name(record.other, find(record.path));
        break;
    case Call::unlink:
    case Call::remove_directory:
        set_name(record.path, std::nullopt);
        break;
    case Call::make_directory:
        set_name(record.path, make_node(true));
        break;
    case Call::map:
        nodes_[opened(record).node].mapped = true;
        break;
    case Call::note:
        break;
    case Call::unknown:
        throw std::runtime_error{"the trace cannot be followed: " + describe(record)};
    }
    ++position_;
}

void Disk::open(const TraceRecord& record) {
    auto node = find(record.path);
    if (!node) {
        node = make_node(false);
        set_name(record.path, node);
    } else if ((record.flags & O_TRUNC) != 0 && nodes_[*node].size > 0) {
        add(nodes_[*node],
            {.position = position_, .kind = Change::Kind::resize, .offset = 0, .size = 0});
    }
    open_files_[{record.process, record.fd}] = {
        .node = *node, .synchronous = (record.flags & (O_SYNC | O_DSYNC)) != 0};
}

void Disk::change(const TraceRecord& record, Change::Kind kind) {
    const auto& file = opened(record);
    auto& node = nodes_[file.node];
    if (node.is_directory) {
        throw std::runtime_error{"the trace writes into a directory: " + describe(record)};
    }
    add(node,
        {.position = position_,
         .kind = kind,
         .offset = record.offset,
         .size = record.size,
         .bytes = record.call == Call::write ? record.bytes.data() : nullptr,
         .durable = file.synchronous && kind == Change::Kind::write && lies_ == Lies::none});
}

void Disk::add(Node& node, const Change& change) {
    node.changes.push_back(change);
    node.size =
        change.kind == Change::Kind::resize ? change.size : std::max(node.size, change.end());
}

void Disk::set_name(std::string_view path, std::optional<Number> node) {
    auto place = place_of(path);
    auto& names = nodes_[place.directory].names_now;
    if (node) {
        names[place.name] = *node;
    } else {
        names.erase(place.name);
    }
    name_changes_.push_back({.position = position_,
                             .directory = place.directory,
                             .name = std::move(place.name),
                             .node = node});
}

void Disk::rename(const TraceRecord& record) {
    const auto node = find(record.path);
    auto from = place_of(record.path);
    set_name(record.other, node);
    nodes_[from.directory].names_now.erase(from.name);
    name_changes_.back().from = {from.directory, std::move(from.name)};
}

void Disk::end_sync(const TraceRecord& record) {
    const auto found = syncs_.find({record.process, record.thread});
    if (found == syncs_.end()) {
        throw std::runtime_error{"the trace ends a sync that it has not begun"};
    }
    const auto sync = found->second;
    syncs_.erase(found);
    auto& node = nodes_[sync.node];
    constexpr std::size_t now_and_then = 8;
    if (lies_ == (node.is_directory ? Lies::of_directories : Lies::of_files) ||
        (lies_ == Lies::now_and_then && ++ended_syncs_ % now_and_then == 0)) {
        return;
    }
    if (node.is_directory) {
        settle_names(sync.node, sync.position);
    } else {
        settle_file(node, sync.position);
    }
    if (lies_ != Lies::of_directories) {
        newest_sync_ = std::max(newest_sync_, sync.position);
    }
}

void Disk::settle_file(Node& node, std::size_t before) const {
    auto& content = node.content;
    for (const auto& change : node.changes) {
        if (change.position >= before) {
            break;
        }
        if (change.kind == Change::Kind::resize) {
            content.resize(change.size);
            continue;
        }
        content.resize(std::max<std::size_t>(content.size(), change.end()));
        if (change.kind == Change::Kind::write && change.bytes != nullptr) {
            content.replace(change.offset, change.size, change.bytes, change.size);
        } else if (change.kind == Change::Kind::write) {
            content.replace(change.offset, change.size, change.size, '\0');
        }
    }
    drop_if(node.changes, [&](const Change& change) { return change.position < before; });
}

// A rename is durable with its new name: a file system makes both changes or none. The old name,
// perhaps of another directory, then never comes, if it was not durable yet.
void Disk::settle_names(Number directory, std::size_t before) {
    const auto settled = [&](const NameChange& change) {
        return change.directory == directory && change.position < before;
    };
    std::vector<NameChange> renamed;
    for (const auto& change : name_changes_) {
        if (!settled(change)) {
            continue;
        }
        auto& names = nodes_[directory].names;
        if (change.node) {
            names[change.name] = *change.node;
        } else {
            names.erase(change.name);
        }
        if (change.from) {
            nodes_[change.from->first].names.erase(change.from->second);
            renamed.push_back(change);
        }
    }
    drop_if(name_changes_, [&](const NameChange& change) {
        return settled(change) || std::ranges::any_of(renamed, [&](const NameChange& rename) {
                   return rename.from == std::pair{change.directory, change.name} &&
                          change.position < rename.position;
               });
    });
}

} // namespace durable::power_cut
