// Events are flat: the event's own members, "type", the members of that type, "location", and
// whatever a later version added, all in one object.

#include "base/try.hpp"
#include "model/event_members.hpp"
#include "model/tagged_union.hpp"
#include "model/wire_members.hpp"
#include "model/wire_names.hpp"

#include <durable/codec.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace durable {

namespace wire {

namespace {

constexpr std::string_view type_key = "type";

using CommonMembers =
    MemberList<Member<"event_id", &HistoryEvent::event_id>,
               Member<"source_event_id", &HistoryEvent::source_event_id, Presence::nullable>,
               Member<"instance_id", &HistoryEvent::instance_id>,
               Member<"execution_id", &HistoryEvent::execution_id>,
               Member<"timestamp_ms", &HistoryEvent::timestamp_ms>,
               Member<"duroxide_version", &HistoryEvent::engine_version>>;
using LastMembers = MemberList<Member<"location", &HistoryEvent::location, Presence::omitted>>;

// How one kind of event is read.
struct KindReader {
    void (*begin)(history::Kind& kind);
    bool (*read)(JsonReader& in, const JsonName& name, history::Kind& kind, MemberSet& met);
    void (*require)(JsonReader& in, MemberSet met);
};

template <std::size_t Index>
using ListOf = typename MembersOf<std::variant_alternative_t<Index, history::Kind>>::List;

template <std::size_t Index>
constexpr KindReader kind_reader = {
    .begin = [](history::Kind& kind) { kind.emplace<Index>(); },
    .read =
        [](JsonReader& in, const JsonName& name, history::Kind& kind, MemberSet& met) {
            return ListOf<Index>::read(in, name, *std::get_if<Index>(&kind), met);
        },
    .require = [](JsonReader& in, MemberSet met) { ListOf<Index>::require(in, met); },
};

constexpr auto kind_readers = []<std::size_t... Indices>(std::index_sequence<Indices...>) {
    return std::array{kind_reader<Indices>...};
}(std::make_index_sequence<std::variant_size_v<history::Kind>>{});

class EventReader {
 public:
    EventReader(JsonReader& in, HistoryEvent& event)
        : in_{in}, event_{event}, unknown_{event.extra} {}

    void read() {
        in_.object([this](const JsonName& name) { member(name); });
        unknown_.finish(in_);
        CommonMembers::require(in_, common_met_);
        if (!type_met_) {
            in_.fail_at(in_.offset(), "missing member", type_key);
        } else if (!in_.failed()) {
            kind_->require(in_, kind_met_);
        }
    }

 private:
    void member(const JsonName& name) {
        if (CommonMembers::read(in_, name, event_, common_met_)) {
            return;
        }
        if (name.text == type_key) {
            type(name);
            return;
        }
        if (LastMembers::read(in_, name, event_, last_met_)) {
            return;
        }
        if (kind_ == nullptr) {
            // This member depends on the type, which comes later in the text: look ahead.
            const auto [type, offset] = in_.look_ahead(type_key);
            choose({.text = type, .offset = offset});
        }
        if (!in_.failed() && !kind_->read(in_, name, event_.kind, kind_met_)) {
            unknown_.keep(in_, name);
        }
    }

    void type(const JsonName& name) {
        if (std::exchange(type_met_, true)) {
            in_.fail_at(name.offset, "repeated member", name.text);
            return;
        }
        const JsonName value = in_.name();
        if (kind_ == nullptr) {
            choose(value);
        }
    }

    void choose(const JsonName& type) {
        const std::size_t index = index_of(event_names, type.text);
        if (index == event_names.size()) {
            in_.fail_at(type.offset, "unknown event type", type.text);
        }
        if (!in_.failed()) {
            kind_ = &kind_readers[index];
            kind_->begin(event_.kind);
        }
    }

    JsonReader& in_;
    HistoryEvent& event_;
    UnknownMembers unknown_;
    const KindReader* kind_ = nullptr;
    bool type_met_ = false;
    MemberSet common_met_ = 0;
    MemberSet kind_met_ = 0;
    MemberSet last_met_ = 0;
};

template <class List>
bool is_known(std::string_view name) {
    return CommonMembers::contains(name) || name == type_key || LastMembers::contains(name) ||
           List::contains(name);
}

void write_event(JsonWriter& out, const HistoryEvent& event) {
    out.enter();
    CommonMembers::write<'{'>(out, event);
    out.literal(R"(,"type":")");
    out.token(event_names[event.kind.index()]);
    out.literal("\"");
    std::visit(
        [&]<class Kind>(const Kind& kind) {
            using List = typename MembersOf<Kind>::List;
            List::template write<','>(out, kind);
            LastMembers::write<','>(out, event);
            if (!event.extra.empty()) [[unlikely]] {
                write_extra(out, event.extra, is_known<List>);
            }
        },
        event.kind);
    out.literal("}");
    out.leave();
}

} // namespace

} // namespace wire

Result<> encode_to(std::string& out, const HistoryEvent& event) {
    wire::JsonWriter writer{out};
    wire::write_event(writer, event);
    return writer.finish("encode");
}

Result<std::string> encode(const HistoryEvent& event) {
    std::string out;
    DURABLE_TRY(encode_to(out, event));
    return out;
}

Result<HistoryEvent> decode_event(std::string_view text) {
    wire::JsonReader in{text};
    Result<HistoryEvent> event;
    wire::EventReader{in, *event}.read();
    in.finish();
    if (in.failed()) {
        event = in.error("decode_event");
    }
    return event;
}

} // namespace durable
