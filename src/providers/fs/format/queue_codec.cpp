#include "providers/fs/format/queue_codec.hpp"

#include "model/wire_names.hpp"
#include "providers/ledger/queueing.hpp"

#include <algorithm>

namespace durable::fs {

using wire::JsonName;
using wire::JsonReader;

void write_message(ObjectWriter& members,
                   const ledger::NewMessage& message,
                   Instant at,
                   std::string_view instance) {
    members.number("seq", message.seq);
    if (message.instance != instance) {
        members.string("instance", message.instance);
    }
    members.instant_unless(at, "visible_at", message.visible_at);
    members.string("kind", wire::item_names[message.kind]);
    members.number_unless(0, "execution", message.execution_id);
    members.number_unless(0, "timer", message.timer_id);
    members.raw("item", message.text);
}

void write_work(ObjectWriter& members,
                const ledger::NewWork& work,
                Instant at,
                std::string_view instance) {
    members.number("seq", work.seq);
    if (work.activity.instance != instance) {
        members.string("instance", work.activity.instance);
    }
    members.number("execution", work.activity.execution_id);
    members.number("id", work.activity.activity_id);
    members.string_if("session", work.session);
    members.string_if("tag", work.tag);
    members.instant_unless(at, "visible_at", work.visible_at);
    members.raw("item", work.text);
}

void read_message(JsonReader& in,
                  ledger::NewMessage& message,
                  Instant at,
                  std::string_view instance,
                  std::uint32_t* attempts,
                  Instant* hidden_until) {
    message.visible_at = at;
    message.instance = instance;
    in.object([&](const JsonName& name) {
        if (name.text == "seq") {
            in.number(message.seq);
        } else if (name.text == "instance") {
            in.string(message.instance);
        } else if (name.text == "visible_at") {
            message.visible_at = read_instant(in);
        } else if (name.text == "kind") {
            const auto kind = in.name();
            const auto found = std::ranges::find(wire::item_names, kind.text);
            if (found == wire::item_names.end()) {
                in.fail_at(kind.offset, "unknown kind of message");
            } else {
                message.kind = static_cast<std::uint8_t>(found - wire::item_names.begin());
            }
        } else if (name.text == "execution") {
            in.number(message.execution_id);
        } else if (name.text == "timer") {
            in.number(message.timer_id);
        } else if (name.text == "item") {
            read_raw(in, message.text);
        } else if (attempts != nullptr && name.text == "attempts") {
            in.number(*attempts);
        } else if (hidden_until != nullptr && name.text == "hidden_until") {
            *hidden_until = read_instant(in);
        } else {
            unknown_member(in, name);
        }
    });
}

void read_work(JsonReader& in,
               ledger::NewWork& work,
               Instant at,
               std::string_view instance,
               std::uint32_t* attempts) {
    work.visible_at = at;
    work.activity.instance = instance;
    in.object([&](const JsonName& name) {
        if (name.text == "seq") {
            in.number(work.seq);
        } else if (name.text == "instance") {
            in.string(work.activity.instance);
        } else if (name.text == "execution") {
            in.number(work.activity.execution_id);
        } else if (name.text == "id") {
            in.number(work.activity.activity_id);
        } else if (name.text == "session") {
            read_string(in, work.session);
        } else if (name.text == "tag") {
            read_string(in, work.tag);
        } else if (name.text == "visible_at") {
            work.visible_at = read_instant(in);
        } else if (name.text == "item") {
            read_raw(in, work.text);
        } else if (attempts != nullptr && name.text == "attempts") {
            in.number(*attempts);
        } else {
            unknown_member(in, name);
        }
    });
    work.name = ledger::activity_name(work.text);
}

std::string_view name_of(ledger::Queue queue) noexcept {
    return queue == ledger::Queue::orchestrator ? "orchestrator" : "worker";
}

void read_queue(JsonReader& in, ledger::Queue& queue) {
    const auto name = in.name();
    if (name.text == name_of(ledger::Queue::worker)) {
        queue = ledger::Queue::worker;
    } else if (name.text == name_of(ledger::Queue::orchestrator)) {
        queue = ledger::Queue::orchestrator;
    } else {
        in.fail_at(name.offset, "unknown queue");
    }
}

void read_version(JsonReader& in, std::optional<Version>& version) {
    const auto name = in.name();
    const auto parsed = Version::parse(name.text);
    if (!parsed) {
        in.fail_at(name.offset, "not a version");
    } else {
        version = *parsed;
    }
}

} // namespace durable::fs
