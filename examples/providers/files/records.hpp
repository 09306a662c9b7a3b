// Records: what stands in the files, and the files it stands in.
//
//   runtime.lock                            held by the one process that has the store open
//   commit.json  next_number.json           directory.hpp
//   deleted.json                            Records::deleted
//   instances/<id>/meta.json                Meta: the instance's row; without it there is none
//   instances/<id>/kv.json                  Values: both layers (P9)
//   instances/<id>/hidden.json              Hidden: given back with a delay, as a whole
//   instances/<id>/exec_<n>/history.jsonl   one event a line, as <durable/codec.hpp> writes it
//   instances/<id>/exec_<n>/status.json     Execution
//   queues/orchestrator|worker/<number>.<kind>.<id>.json
//                                           Envelope, a line break, the item as the codec writes it
//   quarantine/<the same name>              Quarantined, a line break, the item's bytes (P10)
//
// Files of a queue sort by their numbers, which is the order in which items went in (P5). A number
// is drawn before the change is written down: taken again after a crash, it makes the same file.

#pragma once

#include "directory.hpp"

#include <durable/payload.hpp>
#include <durable/provider.hpp>
#include <durable/time.hpp>
#include <durable/work_item.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace files_store {

using Millis = std::int64_t; // since 1970, as in the wire format

struct Meta {
    std::string id;
    std::string name;
    std::string version;
    std::optional<std::string> parent;
    std::uint64_t execution = 1; // the current one
    std::uint64_t created = 0;   // in order of creation
    std::uint64_t incarnation = 0;
    std::uint64_t revision = 0;
    Millis created_at_ms = 0;
    Millis updated_at_ms = 0;
    std::optional<std::string> custom_status;
    std::uint64_t custom_status_version = 0;
    std::optional<std::string> parked; // Parked::reason
    Millis parked_at_ms = 0;
};

struct Execution {
    std::string status; // empty: it has history, but no commit has named it
    std::optional<std::string> output;
    std::optional<std::string> pinned;
    Millis started_at_ms = 0;
    std::optional<Millis> completed_at_ms;
    std::uint64_t events = 0; // of history.jsonl: what stands behind them does not count
    std::uint64_t bytes = 0;  // of these, without the line breaks
    std::uint64_t highest_event_id = 0;
};

struct Value {
    std::optional<std::string> value; // nullopt: cleared
    std::uint64_t last_updated_at_ms = 0;
};

struct Values {
    std::map<std::string, Value> kept;    // what ended executions left
    std::map<std::string, Value> changed; // by the running one

    [[nodiscard]] std::map<std::string, std::string> merged() const;
};

struct Hidden {
    Millis since_ms = 0;
    Millis until_ms = 0;
    std::uint64_t number = 0; // items with a higher one came later
};

struct Envelope {
    std::string instance;
    Millis arrived_at_ms = 0; // of a timer: when it is due
    bool delayed = false;     // false: it was deliverable at once, whatever the clock says since
    Millis hidden_until_ms = 0;
    std::uint32_t attempts = 0;
};

struct Queued {
    std::string file;
    std::uint64_t number = 0;
    Envelope about{};
    std::string text; // of the item; members that this version does not know survive in it
    WorkItem item{};

    [[nodiscard]] Millis deliverable_from() const {
        return std::max(about.arrived_at_ms, about.hidden_until_ms);
    }
    [[nodiscard]] bool deliverable(Millis now) const {
        return (!about.delayed || about.arrived_at_ms <= now) && about.hidden_until_ms <= now;
    }
    // When it will have been deliverable for so long.
    [[nodiscard]] Millis deliverable_since(Duration age) const {
        const Instant from{Duration{deliverable_from()}};
        return add_saturating(from, age).time_since_epoch().count();
    }
    [[nodiscard]] bool suspect() const { return about.attempts >= suspect_after; } // P16
    template <class Kind>
    [[nodiscard]] bool is() const {
        return std::holds_alternative<Kind>(item);
    }
    [[nodiscard]] bool starts() const {
        return is<work::StartOrchestration>() || is<work::ContinueAsNew>();
    }
};

struct Quarantined {
    std::string queue;
    std::optional<std::string> instance;
    std::string reason;
    Millis at_ms = 0;
    bool expired = false;
};

// As JSON: members that are missing in a file keep their defaults.
// clang-format off
DURABLE_PAYLOAD(Meta, id, name, version, parent, execution, created, incarnation, revision,
                created_at_ms, updated_at_ms, custom_status, custom_status_version, parked,
                parked_at_ms)
DURABLE_PAYLOAD(Execution, status, output, pinned, started_at_ms, completed_at_ms, events, bytes,
                highest_event_id)
DURABLE_PAYLOAD(Value, value, last_updated_at_ms)
DURABLE_PAYLOAD(Values, kept, changed)
DURABLE_PAYLOAD(Hidden, since_ms, until_ms, number)
DURABLE_PAYLOAD(Envelope, instance, arrived_at_ms, delayed, hidden_until_ms, attempts)
DURABLE_PAYLOAD(Quarantined, queue, instance, reason, at_ms, expired)
// clang-format on

inline constexpr const char* orchestrator_queue = "orchestrator";
inline constexpr const char* worker_queue = "worker";

void check_text(const std::string& text); // invalid_argument: it is not UTF-8

[[nodiscard]] std::string path_of(const std::string& instance);
[[nodiscard]] std::string path_of(const std::string& instance, std::uint64_t execution);

// Reads and writes records. Nothing is kept in memory.
class Records {
 public:
    explicit Records(Directory& directory) : directory_{directory} {}

    template <class Record>
    [[nodiscard]] std::optional<Record> read(const std::string& file) const {
        const auto text = directory_.read(file);
        if (!text) {
            return std::nullopt;
        }
        auto record = from_payload<Record>(*text);
        if (!record) {
            refuse(ErrorCode::corrupt, file + ": " + record.error().message);
        }
        return *std::move(record);
    }
    [[nodiscard]] std::optional<Meta> meta(const std::string& id) const {
        auto found = read<Meta>(path_of(id) + "/meta.json");
        if (found && found->id != id) {
            refuse(ErrorCode::invalid_argument, "another long id has the same hash");
        }
        return found;
    }
    [[nodiscard]] std::vector<Meta> all_metas() const; // newest first
    [[nodiscard]] Hidden hidden(const std::string& id) const {
        return read<Hidden>(path_of(id) + "/hidden.json").value_or(Hidden{});
    }
    [[nodiscard]] Values values(const std::string& id) const {
        return read<Values>(path_of(id) + "/kv.json").value_or(Values{});
    }
    // The revisions of instances that were deleted last, for watches that saw earlier ones.
    [[nodiscard]] std::map<std::string, std::uint64_t> deleted() const {
        return read<std::map<std::string, std::uint64_t>>("deleted.json")
            .value_or(std::map<std::string, std::uint64_t>{});
    }

    // Executions that have a record or history, and those of them that a commit has named.
    [[nodiscard]] std::map<std::uint64_t, Execution> executions(const std::string& id) const;
    [[nodiscard]] std::map<std::uint64_t, Execution> committed(const std::string& id) const;
    [[nodiscard]] std::optional<Execution> execution(const std::string& id, std::uint64_t n) const;
    [[nodiscard]] std::uint64_t latest(const std::string& id) const; // committed, or 1

    // Events by id, as text. The id of one that is damaged may be 0.
    using Events = std::vector<std::pair<std::uint64_t, std::string>>;
    [[nodiscard]] Events events(const std::string& id, std::uint64_t execution) const;
    [[nodiscard]] std::vector<HistoryEvent> history(const std::string& id,
                                                    std::uint64_t execution) const;

    // Adds events to a change, and counts them in the record of their execution.
    //   invalid_argument  an id is 0 or taken
    void append(Change& change,
                const std::string& id,
                std::uint64_t n,
                Execution& execution,
                const std::vector<HistoryEvent>& events) const;

    // Files of a queue by number; an item of one. nullopt: it is damaged, and in quarantine now.
    [[nodiscard]] std::vector<std::string> queue(const char* name) const {
        return directory_.list(std::string{"queues/"} + name);
    }
    [[nodiscard]] std::optional<Queued>
    item(const char* queue, const std::string& name, Millis now);
    [[nodiscard]] std::vector<Queued> items(const char* queue, Millis now);
    // The step that stores a new item, or one whose envelope has changed.
    [[nodiscard]] Step enqueue(const char* queue, const WorkItem& item, Millis now, Millis due = 0);
    [[nodiscard]] static Step store(const Queued& item);
    void quarantine(const Queued& item, const Quarantined& about);

 private:
    Directory& directory_;
};

// `record` as the text of a file.
template <class Record>
[[nodiscard]] Step store(const std::string& file, const Record& record) {
    return {.file = file, .text = to_payload(record) + "\n"};
}

[[nodiscard]] inline Step removal(const std::string& file) {
    return {.file = file};
}

} // namespace files_store
