#include "providers/fs/views/views.hpp"

#include "base/timestamp.hpp"
#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/format/json_object.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace durable::fs {

namespace {

using ledger::ExecutionImage;
using ledger::InstanceImage;
using wire::JsonWriter;

constexpr std::string_view execution_prefix = "exec_";

std::string name_of_execution(const ExecutionImage& execution) {
    return std::string{execution_prefix} + std::to_string(execution.id);
}

// Atomic for other programs, not durable.
Result<> replace(Files& files, const std::string& path, std::string_view content) {
    const auto temporary = path + ".tmp.1";
    {
        DURABLE_TRY_ASSIGN(const auto file,
                           to_result(files.open(temporary, OpenMode::write_or_create)));
        DURABLE_TRY(to_result(file->truncate(0)));
        DURABLE_TRY(to_result(write_at(*file, content, 0)));
    }
    return to_result(files.rename(temporary, path));
}

template <class Write>
Result<std::string> object_line(Write write) {
    std::string line;
    JsonWriter out{line};
    write_object(out, write);
    DURABLE_TRY(out.finish("write_view"));
    return line + "\n";
}

void text_or_null(ObjectWriter& members,
                  std::string_view key,
                  const std::optional<std::string>& text) {
    if (text) {
        members.string(key, *text);
    } else {
        members.value(key).null();
    }
}

void time_or_null(ObjectWriter& members, std::string_view key, std::optional<Instant> time) {
    text_or_null(members, key, time ? std::optional{timestamp(*time)} : std::nullopt);
}

// P9: both layers merged, as a client sees them.
std::map<std::string, std::string> values_of(const InstanceImage& image) {
    std::map<std::string, std::string> values;
    for (const auto& [key, entry] : image.kv) {
        values[key] = entry.value;
    }
    for (const auto& [key, change] : image.kv_changes) {
        if (change.value) {
            values[key] = *change.value;
        } else {
            values.erase(key);
        }
    }
    return values;
}

void write_meta(ObjectWriter& members, const InstanceImage& image, Lsn as_of) {
    members.string("id", image.id);
    if (image.row) {
        members.string("name", image.row->name);
        members.string("version", image.row->version);
        text_or_null(members, "parent", image.row->parent);
        if (image.executions.empty()) {
            members.string("status", name_of(ExecutionStatus::pending));
        }
        for (const auto& execution : image.executions) {
            if (execution.id == image.row->current_execution && execution.recorded) {
                members.string("status", name_of(execution.status));
            }
        }
        members.number("execution", image.row->current_execution);
        members.string("created_at", timestamp(image.row->created_at));
        members.string("updated_at", timestamp(image.row->updated_at));
    }
    if (image.parked) {
        members.string("parked", image.parked->reason);
        members.string("parked_since", timestamp(image.parked->since));
    }
    text_or_null(members, "custom_status", image.custom_status.status);
    auto& out = members.value("values");
    std::string_view before = "{";
    for (const auto& [key, value] : values_of(image)) {
        out.token(std::exchange(before, ","));
        out.string(key, "key");
        out.literal(":");
        out.string(value, "value");
    }
    out.token(before == "{" ? "{}" : "}");
    members.number("messages", image.messages.size());
    members.number("activities", image.work.size());
    members.number("as_of", as_of);
}

void write_status(ObjectWriter& members, const ExecutionImage& execution) {
    members.number("execution", execution.id);
    if (execution.recorded) {
        members.string("status", name_of(execution.status));
        members.string("started_at", timestamp(execution.started_at));
        time_or_null(members, "completed_at", execution.completed_at);
        text_or_null(members, "output", execution.output);
    }
    if (execution.pinned) {
        members.string("engine_version", execution.pinned->text());
    }
    members.number("events", execution.history.size());
}

Result<std::string> history_lines(const ExecutionImage& execution) {
    std::string lines;
    JsonWriter out{lines};
    execution.history.for_each([&](std::uint64_t, std::string_view text) {
        write_raw(out, text);
        out.literal("\n");
    });
    DURABLE_TRY(out.finish("write_view"));
    return lines;
}

Result<>
write_execution(Files& files, const std::string& directory, const ExecutionImage& execution) {
    DURABLE_TRY(to_result(files.make_directory(directory)));
    DURABLE_TRY_ASSIGN(const auto history, history_lines(execution));
    DURABLE_TRY(replace(files, directory + "/history.jsonl", history));
    DURABLE_TRY_ASSIGN(const auto status, object_line([&](ObjectWriter& members) {
                           write_status(members, execution);
                       }));
    return replace(files, directory + "/status.json", status);
}

// Removes pruned executions and leftovers of a crash.
Result<>
remove_stale(Files& files, const std::string& directory, const std::vector<std::string>& current) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(directory)));
    for (const auto& entry : entries) {
        if (entry.is_directory && entry.name.starts_with(execution_prefix) &&
            std::ranges::find(current, entry.name) == current.end()) {
            DURABLE_TRY(to_result(remove_tree(files, directory + "/" + entry.name)));
        }
    }
    return {};
}

} // namespace

Result<>
write_view(Files& files, const std::string& directory, const InstanceImage& image, Lsn as_of) {
    const auto own = directory + "/" + encode_id(image.id);
    DURABLE_TRY(to_result(files.make_directory(own)));
    // First: meta.json marks the directory as a view.
    DURABLE_TRY_ASSIGN(const auto meta, object_line([&](ObjectWriter& members) {
                           write_meta(members, image, as_of);
                       }));
    DURABLE_TRY(replace(files, own + "/meta.json", meta));
    std::vector<std::string> executions;
    for (const auto& execution : image.executions) {
        executions.push_back(name_of_execution(execution));
        DURABLE_TRY(write_execution(files, own + "/" + executions.back(), execution));
    }
    return remove_stale(files, own, executions);
}

Result<> remove_view(Files& files, const std::string& directory, std::string_view id) {
    return to_result(remove_tree(files, directory + "/" + encode_id(id)));
}

} // namespace durable::fs
