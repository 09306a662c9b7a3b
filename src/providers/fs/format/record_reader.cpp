#include "providers/fs/format/json_object.hpp"
#include "providers/fs/format/queue_codec.hpp"
#include "providers/fs/format/record_codec.hpp"
#include "providers/fs/format/record_names.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace durable::fs {

namespace {

using ledger::Record;
using wire::JsonName;
using wire::JsonReader;
using wire::JsonWriter;
namespace op = ledger::op;

// ---- Reading. Each function reads one member; false: it has no member of that name.

bool read_metadata(ExecutionMetadata& metadata, const JsonName& name, JsonReader& in) {
    std::string text;
    if (name.text == "status") {
        in.string(text);
        metadata.status = parse_execution_status(text);
        if (!metadata.status && !in.failed()) {
            in.fail_here("unknown status");
        }
    } else if (name.text == "output") {
        read_string(in, metadata.output);
    } else if (name.text == "name") {
        read_string(in, metadata.orchestration_name);
    } else if (name.text == "version") {
        read_string(in, metadata.orchestration_version);
    } else if (name.text == "parent") {
        read_string(in, metadata.parent_instance_id);
    } else if (name.text == "pinned") {
        read_version(in, metadata.pinned_version);
    } else {
        return false;
    }
    return true;
}

void read_events(JsonReader& in, std::vector<ledger::NewEvent>& events) {
    in.array([&] {
        auto& event = events.emplace_back();
        bool id_read = false;
        in.array([&] {
            id_read ? read_raw(in, event.text) : in.number(event.id);
            id_read = true;
        });
    });
}

void read_kv(JsonReader& in, ledger::KvChange& change) {
    in.object([&](const JsonName& name) {
        if (name.text == "do") {
            std::string text;
            in.string(text);
            const auto found = std::ranges::find(kv_names, text);
            if (found == kv_names.end()) {
                in.fail_here("unknown kv change");
            }
            change.kind = static_cast<ledger::KvChange::Kind>(found - kv_names.begin());
        } else if (name.text == "key") {
            in.string(change.key);
        } else if (name.text == "value") {
            in.string(change.value);
        } else if (name.text == "updated_at") {
            in.number(change.last_updated_at_ms);
        } else {
            unknown_member(in, name);
        }
    });
}

bool read(op::EnqueueMessage& operation, Instant at, const JsonName& name, JsonReader& in) {
    if (name.text != "message") {
        return false;
    }
    read_message(in, operation.message, at, {});
    return true;
}

bool read(op::StartInstance& operation, Instant at, const JsonName& name, JsonReader& in) {
    if (name.text == "message") {
        read_message(in, operation.message, at, {});
    } else if (name.text == "name") {
        in.string(operation.name);
    } else if (name.text == "version") {
        in.string(operation.version);
    } else if (name.text == "parent") {
        read_string(in, operation.parent);
    } else {
        return false;
    }
    return true;
}

bool read(op::EnqueueWork& operation, Instant at, const JsonName& name, JsonReader& in) {
    if (name.text != "work") {
        return false;
    }
    read_work(in, operation.work, at, {});
    return true;
}

bool read(op::FetchTurn& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "instance") {
        in.string(operation.instance);
    } else if (name.text == "messages") {
        read_numbers(in, operation.messages);
    } else {
        return false;
    }
    return true;
}

bool read(op::FetchWork& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text != "seq") {
        return false;
    }
    in.number(operation.seq);
    return true;
}

bool read(op::CommitTurn& operation, Instant at, const JsonName& name, JsonReader& in) {
    if (name.text == "instance") {
        in.string(operation.instance);
    } else if (name.text == "execution") {
        in.number(operation.execution_id);
    } else if (name.text == "consumed") {
        read_numbers(in, operation.consumed);
    } else if (name.text == "events") {
        read_events(in, operation.events);
    } else if (name.text == "custom_status") {
        auto& change = operation.custom_status.emplace();
        if (!in.null()) {
            read_string(in, change.status);
        }
    } else if (name.text == "kv") {
        in.array([&] { read_kv(in, operation.kv.emplace_back()); });
    } else if (name.text == "work") {
        in.array([&] { read_work(in, operation.work.emplace_back(), at, operation.instance); });
    } else if (name.text == "cancelled_work") {
        read_numbers(in, operation.cancelled_work);
    } else if (name.text == "messages") {
        in.array(
            [&] { read_message(in, operation.messages.emplace_back(), at, operation.instance); });
    } else if (name.text == "cancelled_messages") {
        read_numbers(in, operation.cancelled_messages);
    } else {
        return read_metadata(operation.metadata, name, in);
    }
    return true;
}

bool read(op::AbandonTurn& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "instance") {
        in.string(operation.instance);
    } else if (name.text == "hidden_until") {
        operation.hidden_until = read_instant(in);
    } else if (name.text == "uncounted") {
        read_numbers(in, operation.uncounted);
    } else if (name.text == "delayed_until") {
        operation.delayed_until = read_instant(in);
    } else if (name.text == "delayed") {
        read_numbers(in, operation.delayed);
    } else if (name.text == "parked") {
        read_string(in, operation.parked);
    } else {
        return false;
    }
    return true;
}

bool read(op::FinishWork& operation, Instant at, const JsonName& name, JsonReader& in) {
    if (name.text == "seq") {
        in.number(operation.seq);
    } else if (name.text == "completion") {
        read_message(in, operation.completion.emplace(), at, {});
    } else {
        return false;
    }
    return true;
}

bool read(op::AbandonWork& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "seq") {
        in.number(operation.seq);
    } else if (name.text == "visible_at") {
        operation.visible_at = read_instant(in);
    } else if (name.text == "uncounted") {
        in.boolean(operation.uncounted);
    } else {
        return false;
    }
    return true;
}

bool read(op::Append& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "instance") {
        in.string(operation.instance);
    } else if (name.text == "execution") {
        in.number(operation.execution_id);
    } else if (name.text == "events") {
        read_events(in, operation.events);
    } else {
        return false;
    }
    return true;
}

bool read(op::Delete& operation, Instant at, const JsonName& name, JsonReader& in) {
    if (name.text == "instances") {
        in.array([&] { in.string(operation.instances.emplace_back()); });
    } else if (name.text == "starts") {
        read_numbers(in, operation.starts);
    } else if (name.text == "kept") {
        in.array([&] {
            auto& kept = operation.kept.emplace_back();
            read_message(in, kept.start, at, {}, &kept.attempts);
        });
    } else {
        return false;
    }
    return true;
}

bool read(op::Prune& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "instance") {
        in.string(operation.instance);
    } else if (name.text == "executions") {
        read_numbers(in, operation.executions);
    } else {
        return false;
    }
    return true;
}

bool read(op::Expire& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text != "messages") {
        return false;
    }
    read_numbers(in, operation.messages);
    return true;
}

bool read(op::Quarantine& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "queue") {
        read_queue(in, operation.queue);
    } else if (name.text == "seq") {
        in.number(operation.seq);
    } else if (name.text == "reason") {
        in.string(operation.reason);
    } else {
        return false;
    }
    return true;
}

bool read(op::QuarantineText& operation, Instant, const JsonName& name, JsonReader& in) {
    if (name.text == "queue") {
        read_queue(in, operation.queue);
    } else if (name.text == "seq") {
        in.number(operation.seq);
    } else if (name.text == "instance") {
        read_string(in, operation.instance);
    } else if (name.text == "reason") {
        in.string(operation.reason);
    } else if (name.text == "text") {
        read_raw(in, operation.text);
    } else {
        return false;
    }
    return true;
}

template <std::size_t... Index>
ledger::Operation make_operation(std::size_t index, std::index_sequence<Index...>) {
    ledger::Operation made;
    ((index == Index ? void(made.emplace<Index>()) : void()), ...);
    return made;
}

void read_op(JsonReader& in, Record& record) {
    std::string text;
    in.string(text);
    const auto found = std::ranges::find(op_names, text);
    if (found == op_names.end()) {
        in.fail_here("unknown operation");
        return;
    }
    record.operation = make_operation(static_cast<std::size_t>(found - op_names.begin()),
                                      std::make_index_sequence<op_names.size()>{});
    if (auto* abandoned = std::get_if<op::AbandonWork>(&record.operation)) {
        abandoned->visible_at = record.at; // unless its own member says otherwise
    }
}

} // namespace

// "at" and "op" come before the members that depend on them: encode_members writes them first.
Result<Record> decode_record(std::string_view json) {
    JsonReader in{json};
    Record record;
    bool op_read = false;
    in.object([&](const JsonName& name) {
        if (name.text == "lsn" || name.text == "synced") {
            std::uint64_t ignored = 0;
            in.number(ignored);
        } else if (name.text == "at") {
            record.at = read_instant(in);
        } else if (name.text == "op") {
            read_op(in, record);
            op_read = true;
        } else if (!op_read ||
                   !std::visit(
                       [&](auto& operation) { return read(operation, record.at, name, in); },
                       record.operation)) {
            unknown_member(in, name);
        }
    });
    in.finish();
    if (in.failed()) {
        return in.error("decode_record");
    }
    return record;
}

} // namespace durable::fs
