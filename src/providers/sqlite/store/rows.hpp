// Rows of `instances`, and the other tables about one instance.

#pragma once

#include "providers/rules/commit.hpp"
#include "providers/sqlite/store/transaction.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::sqlite {

// What an instance could do next; the numbers are stored.
enum class Place : std::uint8_t {
    idle = 0,   // nothing deliverable
    ready = 1,  // can be fetched
    hidden = 2, // abandoned with a delay
    leased = 3, // under a live lease
    aside = 4,  // messages, but nothing that could start it yet
};

struct InstanceRow {
    std::int64_t id = 0;
    std::string instance_id;
    std::uint64_t number = 0; // 0: it does not exist yet (only messages or events)
    std::optional<std::string> name;
    std::optional<std::string> version;
    std::optional<std::string> parent_id;
    Instant created_at;
    Instant updated_at;
    std::uint64_t execution_id = 0;
    std::optional<ExecutionStatus> status; // of the current execution, when it has a record; or
                                           // `pending`: it exists and never had one
    std::string pinned;                    // likewise; "": none
    std::uint64_t revision = 0;
    bool past = false; // it has or had an execution or an event

    Place place = Place::idle;
    std::optional<std::int64_t> head_seq;
    std::optional<std::string> token; // of a lease, live while place is `leased`
    std::int64_t lease = 0;
    SteadyInstant until;
    Instant hidden_until;
    // While it is ready: TurnNeeds, and since when its oldest cancellation is deliverable.
    std::string needs;
    std::optional<Instant> cancelled_at;
    std::string stored_needs; // as they are in the table
    std::optional<Instant> stored_cancelled_at;
    std::optional<Parked> parked;

    [[nodiscard]] bool exists() const noexcept { return name.has_value(); }
    [[nodiscard]] bool pending() const noexcept { return status == ExecutionStatus::pending; }
};

[[nodiscard]] std::optional<InstanceRow> find_instance(Connection& db, std::string_view instance);
[[nodiscard]] std::optional<InstanceRow> find_instance(Connection& db, std::int64_t id);
[[nodiscard]] InstanceRow get_instance(Transaction& tx, std::string_view instance); // or a new one

// For an id that has no row yet; the caller inserts it.
[[nodiscard]] InstanceRow new_instance(Transaction& tx, std::string_view instance);
void insert_instance(Connection& db, const InstanceRow& row);

// Each writes only the columns that its name says: others would update indexes.
void save_place(Connection& db, const InstanceRow& row);
void save_turn(Connection& db, const InstanceRow& row); // place, execution, revision, time
void save_all(Connection& db, const InstanceRow& row);
void put_started(Connection& db, const InstanceRow& row); // P15: the whole row, new or not
void save_parked(Connection& db, const InstanceRow& row); // and its revision

// An id that only a message or an activity mentioned is forgotten with the last of them.
void drop_if_unused(Transaction& tx, const InstanceRow& row);

// Reads the columns that the row copies from its current execution.
void mirror_execution(Connection& db, InstanceRow& row);

// The highest recorded execution; 1 when there is none.
[[nodiscard]] std::uint64_t latest_execution(Connection& db, std::int64_t instance);

// Texts of an execution's events with ids above `after`, ascending.
[[nodiscard]] std::vector<std::string> events_after(Connection& db,
                                                    std::int64_t instance,
                                                    std::uint64_t execution_id,
                                                    std::uint64_t after);

// Those with ids above the signed half, which are stored as negative ones and come last.
[[nodiscard]] std::vector<std::string> events_above_half(Connection& db,
                                                         std::int64_t instance,
                                                         std::uint64_t execution_id,
                                                         std::uint64_t from = std::uint64_t{1}
                                                                              << 63U);

// invalid_argument: an id is taken; the caller undoes the rest.
[[nodiscard]] Result<> append_events(Transaction& tx,
                                     std::int64_t instance,
                                     std::uint64_t execution_id,
                                     const std::vector<rules::NewEvent>& events);

// For an instance that does not exist: the start event in the history of its latest execution;
// nullopt when there is none or it does not decode.
[[nodiscard]] std::optional<history::OrchestrationStarted> stored_start(Connection& db,
                                                                        std::int64_t instance);
// The same from events that were read.
[[nodiscard]] std::optional<history::OrchestrationStarted>
start_in(const std::vector<std::string>& events);

[[nodiscard]] CustomStatus custom_status_of(Connection& db, std::int64_t instance);

void quarantine(Transaction& tx,
                rules::Queue queue,
                std::uint64_t seq,
                const std::optional<std::string>& instance,
                std::string_view text,
                std::string_view reason);

// Both layers of keys and values.
void change_kv(Transaction& tx, std::int64_t instance, const rules::KvChange& change);
void merge_kv(Connection& db, std::int64_t instance); // P9: the execution has ended

} // namespace durable::sqlite
