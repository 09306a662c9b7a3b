#include "providers/fs/format/close_codec.hpp"

#include "providers/fs/format/json_object.hpp"

#include <algorithm>
#include <chrono>

namespace durable::fs {

namespace {

using ledger::Handover;
using wire::JsonName;
using wire::JsonReader;
using wire::JsonWriter;

std::uint64_t to_number(Duration duration) {
    return static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
}

void read_duration(JsonReader& in, Duration& duration) {
    std::uint64_t milliseconds = 0;
    in.number(milliseconds);
    duration = from_epoch_ms(milliseconds).time_since_epoch(); // saturates
}

void write_turn(JsonWriter& out, const Handover::Turn& turn) {
    write_object(out, [&](ObjectWriter& members) {
        members.string("instance", turn.instance);
        members.string("token", turn.lock_token);
        members.number("left_ms", to_number(turn.left));
        members.numbers_if_any("messages", turn.messages);
    });
}

void write_activity(JsonWriter& out, const Handover::Activity& activity) {
    write_object(out, [&](ObjectWriter& members) {
        members.number("seq", activity.seq);
        members.string("token", activity.lock_token);
        members.number("left_ms", to_number(activity.left));
    });
}

void write_session(JsonWriter& out, const Handover::SessionLease& session) {
    write_object(out, [&](ObjectWriter& members) {
        members.string("session", session.session);
        members.string("owner", session.owner);
        members.number("left_ms", to_number(session.left));
        members.number("idle_ms", to_number(session.idle));
        members.number_unless(0, "over_ms", to_number(session.over));
    });
}

void read_turn(JsonReader& in, Handover::Turn& turn) {
    in.object([&](const JsonName& name) {
        if (name.text == "instance") {
            in.string(turn.instance);
        } else if (name.text == "token") {
            in.string(turn.lock_token);
        } else if (name.text == "left_ms") {
            read_duration(in, turn.left);
        } else if (name.text == "messages") {
            read_numbers(in, turn.messages);
        } else {
            unknown_member(in, name);
        }
    });
}

void read_activity(JsonReader& in, Handover::Activity& activity) {
    in.object([&](const JsonName& name) {
        if (name.text == "seq") {
            in.number(activity.seq);
        } else if (name.text == "token") {
            in.string(activity.lock_token);
        } else if (name.text == "left_ms") {
            read_duration(in, activity.left);
        } else {
            unknown_member(in, name);
        }
    });
}

void read_session(JsonReader& in, Handover::SessionLease& session) {
    in.object([&](const JsonName& name) {
        if (name.text == "session") {
            in.string(session.session);
        } else if (name.text == "owner") {
            in.string(session.owner);
        } else if (name.text == "left_ms") {
            read_duration(in, session.left);
        } else if (name.text == "idle_ms") {
            read_duration(in, session.idle);
        } else if (name.text == "over_ms") {
            read_duration(in, session.over);
        } else {
            unknown_member(in, name);
        }
    });
}

} // namespace

Result<> encode_members(std::string& out, const Close& close) {
    JsonWriter writer{out};
    ObjectWriter members{writer};
    members.instant("at", close.at);
    members.string("op", "close");
    members.array_if_any("turns", close.handover.turns, write_turn);
    members.array_if_any("activities", close.handover.activities, write_activity);
    members.array_if_any("sessions", close.handover.sessions, write_session);
    return writer.finish("encode_close");
}

bool is_close(std::string_view json) noexcept {
    // "op" follows the members of the journal and the time: it is near the beginning.
    constexpr std::size_t far_enough = 120;
    return json.substr(0, far_enough).find(R"(,"op":"close")") != std::string_view::npos;
}

Result<Close> decode_close(std::string_view json) {
    JsonReader in{json};
    Close close;
    in.object([&](const JsonName& name) {
        if (name.text == "lsn" || name.text == "synced") {
            std::uint64_t ignored = 0;
            in.number(ignored);
        } else if (name.text == "at") {
            close.at = read_instant(in);
        } else if (name.text == "op") {
            (void)in.name();
        } else if (name.text == "turns") {
            in.array([&] { read_turn(in, close.handover.turns.emplace_back()); });
        } else if (name.text == "activities") {
            in.array([&] { read_activity(in, close.handover.activities.emplace_back()); });
        } else if (name.text == "sessions") {
            in.array([&] { read_session(in, close.handover.sessions.emplace_back()); });
        } else {
            unknown_member(in, name);
        }
    });
    in.finish();
    if (in.failed()) {
        return in.error("decode_close");
    }
    return close;
}

} // namespace durable::fs
