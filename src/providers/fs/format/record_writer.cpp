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

// ---- Writing. `at` is the time of the record: times equal to it are left out.

void write_metadata(ObjectWriter& members, const ExecutionMetadata& metadata) {
    if (metadata.status) {
        members.string("status", name_of(*metadata.status));
    }
    members.string_if("output", metadata.output);
    members.string_if("name", metadata.orchestration_name);
    members.string_if("version", metadata.orchestration_version);
    members.string_if("parent", metadata.parent_instance_id);
    if (metadata.pinned_version) {
        members.string("pinned", metadata.pinned_version->text());
    }
}

void write_events(ObjectWriter& members, const std::vector<ledger::NewEvent>& events) {
    members.array_if_any("events", events, [](JsonWriter& out, const ledger::NewEvent& event) {
        out.literal("[");
        out.number(event.id);
        out.literal(",");
        write_raw(out, event.text);
        out.literal("]");
    });
}

void write_kv(JsonWriter& out, const ledger::KvChange& change) {
    write_object(out, [&](ObjectWriter& members) {
        members.string("do", kv_names[static_cast<std::size_t>(change.kind)]);
        if (change.kind != ledger::KvChange::Kind::clear_all) {
            members.string("key", change.key);
        }
        if (change.kind == ledger::KvChange::Kind::set) {
            members.string("value", change.value);
        }
        members.number_unless(0, "updated_at", change.last_updated_at_ms);
    });
}

void write(ObjectWriter& members, Instant at, const op::EnqueueMessage& operation) {
    write_object(members.value("message"),
                 [&](ObjectWriter& message) { write_message(message, operation.message, at, {}); });
}

void write(ObjectWriter& members, Instant at, const op::StartInstance& operation) {
    write_object(members.value("message"),
                 [&](ObjectWriter& message) { write_message(message, operation.message, at, {}); });
    members.string("name", operation.name);
    members.string("version", operation.version);
    members.string_if("parent", operation.parent);
}

void write(ObjectWriter& members, Instant at, const op::EnqueueWork& operation) {
    write_object(members.value("work"),
                 [&](ObjectWriter& work) { write_work(work, operation.work, at, {}); });
}

void write(ObjectWriter& members, Instant, const op::FetchTurn& operation) {
    members.string("instance", operation.instance);
    members.numbers_if_any("messages", operation.messages);
}

void write(ObjectWriter& members, Instant, const op::FetchWork& operation) {
    members.number("seq", operation.seq);
}

void write(ObjectWriter& members, Instant at, const op::CommitTurn& operation) {
    members.string("instance", operation.instance);
    members.number("execution", operation.execution_id);
    members.numbers_if_any("consumed", operation.consumed);
    write_metadata(members, operation.metadata);
    write_events(members, operation.events);
    if (operation.custom_status) {
        auto& out = members.value("custom_status");
        if (operation.custom_status->status) {
            out.string(*operation.custom_status->status, "custom_status");
        } else {
            out.null();
        }
    }
    members.array_if_any("kv", operation.kv, write_kv);
    members.array_if_any("work", operation.work, [&](JsonWriter& out, const auto& work) {
        write_object(
            out, [&](ObjectWriter& object) { write_work(object, work, at, operation.instance); });
    });
    members.numbers_if_any("cancelled_work", operation.cancelled_work);
    members.array_if_any("messages", operation.messages, [&](JsonWriter& out, const auto& message) {
        write_object(out, [&](ObjectWriter& object) {
            write_message(object, message, at, operation.instance);
        });
    });
    members.numbers_if_any("cancelled_messages", operation.cancelled_messages);
}

void write(ObjectWriter& members, Instant, const op::AbandonTurn& operation) {
    members.string("instance", operation.instance);
    if (operation.hidden_until) {
        members.instant("hidden_until", *operation.hidden_until);
    }
    members.numbers_if_any("uncounted", operation.uncounted);
    if (operation.delayed_until) {
        members.instant("delayed_until", *operation.delayed_until);
    }
    members.numbers_if_any("delayed", operation.delayed);
    members.string_if("parked", operation.parked);
}

void write(ObjectWriter& members, Instant at, const op::FinishWork& operation) {
    members.number("seq", operation.seq);
    if (operation.completion) {
        write_object(members.value("completion"), [&](ObjectWriter& message) {
            write_message(message, *operation.completion, at, {});
        });
    }
}

void write(ObjectWriter& members, Instant at, const op::AbandonWork& operation) {
    members.number("seq", operation.seq);
    members.instant_unless(at, "visible_at", operation.visible_at);
    members.flag_if("uncounted", operation.uncounted);
}

void write(ObjectWriter& members, Instant, const op::Append& operation) {
    members.string("instance", operation.instance);
    members.number("execution", operation.execution_id);
    write_events(members, operation.events);
}

void write(ObjectWriter& members, Instant at, const op::Delete& operation) {
    members.array_if_any("instances", operation.instances, [](JsonWriter& out, const auto& id) {
        out.string(id, "instances");
    });
    members.numbers_if_any("starts", operation.starts);
    members.array_if_any("kept", operation.kept, [&](JsonWriter& out, const auto& kept) {
        write_object(out, [&](ObjectWriter& message) {
            write_message(message, kept.start, at, {});
            message.number_unless(0, "attempts", kept.attempts);
        });
    });
}

void write(ObjectWriter& members, Instant, const op::Prune& operation) {
    members.string("instance", operation.instance);
    members.numbers_if_any("executions", operation.executions);
}

void write(ObjectWriter& members, Instant, const op::Expire& operation) {
    members.numbers_if_any("messages", operation.messages);
}

void write(ObjectWriter& members, Instant, const op::Quarantine& operation) {
    members.string("queue", name_of(operation.queue));
    members.number("seq", operation.seq);
    members.string("reason", operation.reason);
}

void write(ObjectWriter& members, Instant, const op::QuarantineText& operation) {
    members.string("queue", name_of(operation.queue));
    members.number("seq", operation.seq);
    members.string_if("instance", operation.instance);
    members.string("reason", operation.reason);
    members.raw("text", operation.text);
}

} // namespace

Result<> encode_members(std::string& out, const Record& record) {
    JsonWriter writer{out};
    ObjectWriter members{writer};
    members.instant("at", record.at);
    members.string("op", op_names[record.operation.index()]);
    std::visit([&](const auto& operation) { write(members, record.at, operation); },
               record.operation);
    return writer.finish("encode_record");
}

} // namespace durable::fs
