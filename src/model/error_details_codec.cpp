#include "model/error_details_codec.hpp"

#include "base/try.hpp"
#include "model/tagged_union.hpp"
#include "model/wire_members.hpp"
#include "model/wire_names.hpp"

#include <durable/codec.hpp>

#include <array>
#include <string>
#include <string_view>

namespace durable {

namespace wire {

using details::Application;
using details::ApplicationKind;
using details::Configuration;
using details::Infrastructure;
using details::Poison;
using details::PoisonKind;

namespace {

// A required member that stands for several fields of its struct.
template <Name Key>
struct RequiredMember {
    static constexpr auto key = Key;
    static constexpr auto presence = Presence::required;
    template <class Object>
    static bool present(const Object&) {
        return true;
    }
};

// "kind":"Nondeterminism", the only one there is.
struct ConfigurationKindMember : RequiredMember<"kind"> {
    static constexpr std::string_view only = "Nondeterminism";

    static void write(JsonWriter& out, const Configuration&) { out.literal(R"("Nondeterminism")"); }
    static void read(JsonReader& in, Configuration&) {
        const JsonName name = in.name();
        if (name.text != only) {
            in.fail_at(name.offset, "unknown configuration error", name.text);
        }
    }
};

// "message": a string or null.
struct ConfigurationMessageMember {
    static constexpr Name key = "message";
    static constexpr auto presence = Presence::nullable;

    static bool present(const Configuration&) { return true; }
    static void write(JsonWriter& out, const Configuration& error) {
        error.has_message ? out.string(error.message, key.view()) : out.null();
    }
    static void read(JsonReader& in, Configuration& error) {
        error.has_message = !in.null();
        if (error.has_message) {
            in.string(error.message);
        }
    }
};

constexpr std::array application_kinds = {std::string_view{"ActivityFailed"},
                                          std::string_view{"OrchestrationFailed"},
                                          std::string_view{"Panicked"}};
constexpr std::string_view cancelled_kind = "Cancelled";

using CancelledMembers = MemberList<Member<"reason", &Application::reason>>;

// "kind":"Panicked" and so on, but "kind":{"Cancelled":{"reason":"..."}}.
struct ApplicationKindMember : RequiredMember<"kind"> {
    static void write(JsonWriter& out, const Application& error) {
        if (error.kind > ApplicationKind::cancelled) {
            out.refuse("the kind of an application error is none of its values");
            return;
        }
        if (error.kind != ApplicationKind::cancelled) {
            out.literal("\"");
            out.token(application_kinds[static_cast<std::size_t>(error.kind)]);
            out.literal("\"");
            return;
        }
        out.enter();
        out.literal(R"({"Cancelled":)");
        write_object<CancelledMembers>(out, error, error.kind_extra);
        out.literal("}");
        out.leave();
    }
    static void read(JsonReader& in, Application& error) {
        if (in.peek() == '{') {
            read_only_member(in, [&](const JsonName& name) { read_cancelled(in, name, error); });
            return;
        }
        const JsonName name = in.name();
        const std::size_t index = index_of(application_kinds, name.text);
        if (index == application_kinds.size()) {
            in.fail_at(name.offset, "unknown application error", name.text);
            return;
        }
        error.kind = static_cast<ApplicationKind>(index);
    }

 private:
    static void read_cancelled(JsonReader& in, const JsonName& name, Application& error) {
        if (name.text != cancelled_kind) {
            in.fail_at(name.offset, "unknown application error", name.text);
            return;
        }
        error.kind = ApplicationKind::cancelled;
        read_object<CancelledMembers>(in, error, error.kind_extra);
    }
};

constexpr std::array poison_kinds = {std::string_view{"Orchestration"},
                                     std::string_view{"Activity"},
                                     std::string_view{"FailedDeserialization"}};

using PoisonedOrchestration = MemberList<Member<"instance", &Poison::instance>,
                                         Member<"execution_id", &Poison::execution_id>>;
using PoisonedActivity = MemberList<Member<"instance", &Poison::instance>,
                                    Member<"execution_id", &Poison::execution_id>,
                                    Member<"activity_name", &Poison::activity_name>,
                                    Member<"activity_id", &Poison::activity_id>>;
using PoisonedText = MemberList<Member<"instance", &Poison::instance>,
                                Member<"execution_id", &Poison::execution_id>,
                                Member<"error", &Poison::error>>;

// "message_type":{"Activity":{...}}
struct PoisonKindMember : RequiredMember<"message_type"> {
    static void write(JsonWriter& out, const Poison& error) {
        if (error.kind > PoisonKind::failed_deserialization) {
            out.refuse("the kind of a poison error is none of its values");
            return;
        }
        out.enter();
        out.literal(R"({")");
        out.token(poison_kinds[static_cast<std::size_t>(error.kind)]);
        out.literal(R"(":)");
        with_list(error.kind,
                  [&]<class List>(List) { write_object<List>(out, error, error.kind_extra); });
        out.literal("}");
        out.leave();
    }
    static void read(JsonReader& in, Poison& error) {
        read_only_member(in, [&](const JsonName& name) {
            const std::size_t index = index_of(poison_kinds, name.text);
            if (index == poison_kinds.size()) {
                in.fail_at(name.offset, "unknown poison message type", name.text);
                return;
            }
            error.kind = static_cast<PoisonKind>(index);
            with_list(error.kind,
                      [&]<class List>(List) { read_object<List>(in, error, error.kind_extra); });
        });
    }

 private:
    template <class Use>
    static void with_list(PoisonKind kind, Use&& use) {
        switch (kind) {
        case PoisonKind::orchestration:
            return use(PoisonedOrchestration{});
        case PoisonKind::activity:
            return use(PoisonedActivity{});
        case PoisonKind::failed_deserialization:
            return use(PoisonedText{});
        }
    }
};

} // namespace

template <>
struct MembersOf<Infrastructure> {
    using List = MemberList<Member<"operation", &Infrastructure::operation>,
                            Member<"message", &Infrastructure::message>,
                            Member<"retryable", &Infrastructure::retryable>>;
};

template <>
struct MembersOf<Configuration> {
    using List = MemberList<ConfigurationKindMember,
                            Member<"resource", &Configuration::resource>,
                            ConfigurationMessageMember>;
};

template <>
struct MembersOf<Application> {
    using List = MemberList<ApplicationKindMember,
                            Member<"message", &Application::message>,
                            Member<"retryable", &Application::retryable>,
                            Member<"failure_kind", &Application::failure_kind, Presence::omitted>,
                            Member<"activity", &Application::activity, Presence::omitted>,
                            Member<"permanent", &Application::permanent, Presence::omitted>>;
};

template <>
struct MembersOf<Poison> {
    using List = MemberList<Member<"attempt_count", &Poison::attempt_count>,
                            Member<"max_attempts", &Poison::max_attempts>,
                            PoisonKindMember,
                            Member<"message", &Poison::message>,
                            Member<"cause", &Poison::cause, Presence::omitted>,
                            Member<"permanent", &Poison::permanent, Presence::omitted>>;
};

void write_value(JsonWriter& out, const ErrorDetails& details, std::string_view) {
    write_tagged(out, details, details_names);
}

void read_value(JsonReader& in, ErrorDetails& details) {
    read_tagged(in, details, details_names, "unknown error");
}

} // namespace wire

Result<> encode_to(std::string& out, const ErrorDetails& details) {
    wire::JsonWriter writer{out};
    wire::write_value(writer, details, {});
    return writer.finish("encode");
}

Result<std::string> encode(const ErrorDetails& details) {
    std::string out;
    DURABLE_TRY(encode_to(out, details));
    return out;
}

Result<ErrorDetails> decode_error_details(std::string_view text) {
    wire::JsonReader in{text};
    Result<ErrorDetails> details;
    wire::read_value(in, *details);
    in.finish();
    if (in.failed()) {
        details = in.error("decode_error_details");
    }
    return details;
}

} // namespace durable
