#include "providers/fs/format/image_codec.hpp"

#include "providers/fs/format/json_object.hpp"
#include "providers/fs/format/queue_codec.hpp"

#include <utility>

namespace durable::fs {

namespace {

using ledger::ExecutionImage;
using ledger::InstanceImage;
using wire::JsonName;
using wire::JsonReader;
using wire::JsonWriter;

// ---- Writing

void write_row(JsonWriter& out, const ledger::RowImage& row) {
    write_object(out, [&](ObjectWriter& members) {
        members.number("number", row.number);
        members.string("name", row.name);
        members.string("version", row.version);
        members.string_if("parent", row.parent);
        members.instant("created_at", row.created_at);
        members.instant("updated_at", row.updated_at);
        members.number("execution", row.current_execution);
    });
}

void write_execution(JsonWriter& out, const ExecutionImage& execution) {
    write_object(out, [&](ObjectWriter& members) {
        members.number("id", execution.id);
        if (execution.recorded) {
            members.string("status", name_of(execution.status));
            members.instant("started_at", execution.started_at);
        }
        if (execution.completed_at) {
            members.instant("completed_at", *execution.completed_at);
        }
        members.string_if("output", execution.output);
        if (execution.pinned) {
            members.string("pinned", execution.pinned->text());
        }
        if (execution.history.empty()) {
            return;
        }
        auto& events = members.value("events");
        char before = '[';
        execution.history.for_each([&](std::uint64_t id, std::string_view text) {
            events.token({&before, 1});
            before = ',';
            events.literal("[");
            events.number(id);
            events.literal(",");
            write_raw(events, text);
            events.literal("]");
        });
        events.literal("]");
    });
}

void write_message_image(JsonWriter& out, const ledger::MessageImage& image, std::string_view id) {
    write_object(out, [&](ObjectWriter& members) {
        write_message(members, image.message, Instant{}, id);
        members.number_unless(0, "attempts", image.attempts);
        members.instant_unless(Instant{}, "hidden_until", image.hidden_until);
    });
}

void write_work_image(JsonWriter& out, const ledger::WorkImage& image, std::string_view id) {
    write_object(out, [&](ObjectWriter& members) {
        write_work(members, image.work, Instant{}, id);
        members.number_unless(0, "attempts", image.attempts);
    });
}

void write_kv(JsonWriter& out, std::string_view key, const std::string* value, std::uint64_t at) {
    out.literal("[");
    out.string(key, "kv");
    out.literal(",");
    if (value != nullptr) {
        out.string(*value, "kv");
    } else {
        out.null();
    }
    out.literal(",");
    out.number(at);
    out.literal("]");
}

void write_quarantined(JsonWriter& out, const QuarantinedItem& item) {
    write_object(out, [&](ObjectWriter& members) {
        members.number("id", item.id);
        members.string("queue", item.queue);
        members.string_if("instance", item.instance);
        members.string("reason", item.reason);
        members.instant("at", item.quarantined_at);
        members.raw("text", item.text);
    });
}

void write_members(ObjectWriter& members, const InstanceImage& image) {
    members.string("id", image.id);
    members.number("incarnation", image.incarnation);
    members.number("revision", image.revision);
    if (image.row) {
        write_row(members.value("row"), *image.row);
    }
    members.array_if_any("executions", image.executions, write_execution);
    if (image.custom_status.version != 0) {
        members.number("custom_status_version", image.custom_status.version);
        members.string_if("custom_status", image.custom_status.status);
    }
    members.array_if_any("kv", image.kv, [](JsonWriter& out, const auto& entry) {
        write_kv(out, entry.first, &entry.second.value, entry.second.last_updated_at_ms);
    });
    members.array_if_any("kv_changes", image.kv_changes, [](JsonWriter& out, const auto& entry) {
        const auto& value = entry.second.value;
        write_kv(out, entry.first, value ? &*value : nullptr, entry.second.last_updated_at_ms);
    });
    members.instant_unless(Instant{}, "hidden_until", image.hidden_until);
    members.instant_unless(Instant{}, "hidden_at", image.hidden_at);
    members.number_unless(0, "hidden_seq", image.hidden_seq);
    if (image.parked) {
        members.string("parked", image.parked->reason);
        members.instant("parked_since", image.parked->since);
    }
    members.array_if_any("messages", image.messages, [&](JsonWriter& out, const auto& message) {
        write_message_image(out, message, image.id);
    });
    members.array_if_any("work", image.work, [&](JsonWriter& out, const auto& work) {
        write_work_image(out, work, image.id);
    });
}

// ---- Reading

void read_row(JsonReader& in, ledger::RowImage& row) {
    in.object([&](const JsonName& name) {
        if (name.text == "number") {
            in.number(row.number);
        } else if (name.text == "name") {
            in.string(row.name);
        } else if (name.text == "version") {
            in.string(row.version);
        } else if (name.text == "parent") {
            read_string(in, row.parent);
        } else if (name.text == "created_at") {
            row.created_at = read_instant(in);
        } else if (name.text == "updated_at") {
            row.updated_at = read_instant(in);
        } else if (name.text == "execution") {
            in.number(row.current_execution);
        } else {
            unknown_member(in, name);
        }
    });
}

void read_event(JsonReader& in, ledger::HistoryLog& history) {
    std::uint64_t id = 0;
    bool id_read = false;
    in.array([&] {
        if (!id_read) {
            in.number(id);
            id_read = true;
        } else if (in.peek() == '{') {
            history.append(id, in.raw_object());
        } else {
            std::string text;
            read_raw(in, text);
            history.append(id, text);
        }
    });
}

void read_execution(JsonReader& in, ExecutionImage& execution) {
    in.object([&](const JsonName& name) {
        if (name.text == "id") {
            in.number(execution.id);
        } else if (name.text == "status") {
            const auto status = in.name();
            const auto parsed = parse_execution_status(status.text);
            if (!parsed) {
                in.fail_at(status.offset, "unknown status");
            }
            execution.recorded = true;
            execution.status = parsed.value_or(ExecutionStatus::running);
        } else if (name.text == "started_at") {
            execution.started_at = read_instant(in);
        } else if (name.text == "completed_at") {
            execution.completed_at = read_instant(in);
        } else if (name.text == "output") {
            read_string(in, execution.output);
        } else if (name.text == "pinned") {
            read_version(in, execution.pinned);
        } else if (name.text == "events") {
            in.array([&] { read_event(in, execution.history); });
        } else {
            unknown_member(in, name);
        }
    });
}

struct KvTriple {
    std::string key;
    std::optional<std::string> value;
    std::uint64_t at = 0;
};

KvTriple read_kv(JsonReader& in) {
    KvTriple triple;
    int part = 0;
    in.array([&] {
        switch (part++) {
        case 0:
            in.string(triple.key);
            break;
        case 1:
            if (!in.null()) {
                read_string(in, triple.value);
            }
            break;
        default:
            in.number(triple.at);
        }
    });
    return triple;
}

void read_image(JsonReader& in, InstanceImage& image) {
    in.object([&](const JsonName& name) {
        if (name.text == "id") {
            in.string(image.id);
        } else if (name.text == "incarnation") {
            in.number(image.incarnation);
        } else if (name.text == "revision") {
            in.number(image.revision);
        } else if (name.text == "row") {
            read_row(in, image.row.emplace());
        } else if (name.text == "executions") {
            in.array([&] { read_execution(in, image.executions.emplace_back()); });
        } else if (name.text == "custom_status_version") {
            in.number(image.custom_status.version);
        } else if (name.text == "custom_status") {
            read_string(in, image.custom_status.status);
        } else if (name.text == "kv") {
            in.array([&] {
                auto entry = read_kv(in);
                image.kv[entry.key] = {std::move(entry.value).value_or(""), entry.at};
            });
        } else if (name.text == "kv_changes") {
            in.array([&] {
                auto entry = read_kv(in);
                image.kv_changes[entry.key] = {std::move(entry.value), entry.at};
            });
        } else if (name.text == "hidden_until") {
            image.hidden_until = read_instant(in);
        } else if (name.text == "hidden_at") {
            image.hidden_at = read_instant(in);
        } else if (name.text == "hidden_seq") {
            in.number(image.hidden_seq);
        } else if (name.text == "parked") {
            in.string(image.parked ? image.parked->reason : image.parked.emplace().reason);
        } else if (name.text == "parked_since") {
            (image.parked ? *image.parked : image.parked.emplace()).since = read_instant(in);
        } else if (name.text == "messages") {
            in.array([&] {
                auto& added = image.messages.emplace_back();
                read_message(in, added.message, {}, image.id, &added.attempts, &added.hidden_until);
            });
        } else if (name.text == "work") {
            in.array([&] {
                auto& added = image.work.emplace_back();
                read_work(in, added.work, {}, image.id, &added.attempts);
            });
        } else {
            unknown_member(in, name);
        }
    });
}

void read_quarantined(JsonReader& in, QuarantinedItem& item) {
    in.object([&](const JsonName& name) {
        if (name.text == "id") {
            in.number(item.id);
        } else if (name.text == "queue") {
            in.string(item.queue);
        } else if (name.text == "instance") {
            read_string(in, item.instance);
        } else if (name.text == "reason") {
            in.string(item.reason);
        } else if (name.text == "at") {
            item.quarantined_at = read_instant(in);
        } else if (name.text == "text") {
            read_raw(in, item.text);
        } else {
            unknown_member(in, name);
        }
    });
}

void read_rest(JsonReader& in, ledger::RestImage& rest) {
    in.object([&](const JsonName& name) {
        if (name.text == "next_seq") {
            in.number(rest.next_seq);
        } else if (name.text == "next_number") {
            in.number(rest.next_number);
        } else if (name.text == "next_incarnation") {
            in.number(rest.next_incarnation);
        } else if (name.text == "revision") {
            in.number(rest.revision);
        } else if (name.text == "expired_total") {
            in.number(rest.expired_total);
        } else if (name.text == "quarantine") {
            in.array([&] { read_quarantined(in, rest.quarantine.emplace_back()); });
        } else if (name.text == "expired") {
            in.array([&] { read_quarantined(in, rest.expired.emplace_back()); });
        } else {
            unknown_member(in, name);
        }
    });
}

template <class T, class Read>
Result<T> decode_with(std::string_view json, std::string_view operation, Read read) {
    JsonReader in{json};
    T value;
    read(in, value);
    in.finish();
    if (in.failed()) {
        return in.error(operation);
    }
    return value;
}

} // namespace

Result<> encode_image(std::string& out, const InstanceImage& image) {
    JsonWriter writer{out};
    write_object(writer, [&](ObjectWriter& members) { write_members(members, image); });
    return writer.finish("encode_image");
}

Result<> encode_rest(std::string& out, const ledger::RestImage& rest) {
    JsonWriter writer{out};
    write_object(writer, [&](ObjectWriter& members) {
        members.number("next_seq", rest.next_seq);
        members.number("next_number", rest.next_number);
        members.number("next_incarnation", rest.next_incarnation);
        members.number("revision", rest.revision);
        members.number_unless(0, "expired_total", rest.expired_total);
        members.array_if_any("quarantine", rest.quarantine, write_quarantined);
        members.array_if_any("expired", rest.expired, write_quarantined);
    });
    return writer.finish("encode_rest");
}

Result<InstanceImage> decode_image(std::string_view json) {
    return decode_with<InstanceImage>(json, "decode_image", read_image);
}

Result<ledger::RestImage> decode_rest(std::string_view json) {
    return decode_with<ledger::RestImage>(json, "decode_rest", read_rest);
}

} // namespace durable::fs
