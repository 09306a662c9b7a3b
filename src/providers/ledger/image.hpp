// Images: the durable state of a ledger in pieces that can be stored, compared and restored.
//
// One InstanceImage holds all that belongs to one id, RestImage what belongs to none. A ledger that
// is restored from the images of another has the same durable state. Leases and sessions are in
// handover.hpp.

#pragma once

#include "providers/ledger/history_log.hpp"
#include "providers/ledger/record.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/time.hpp>
#include <durable/version.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace durable::ledger {

class Ledger;
struct Instance;
struct Message;

struct MessageImage {
    NewMessage message;
    std::uint32_t attempts = 0;
    Instant hidden_until{};
    bool operator==(const MessageImage&) const = default;
};

struct WorkImage {
    NewWork work;
    std::uint32_t attempts = 0;
    bool operator==(const WorkImage&) const = default;
};

struct ExecutionImage {
    std::uint64_t id = 0;
    bool recorded = false; // false: it has history, but no commit ever named it
    ExecutionStatus status = ExecutionStatus::running;
    Instant started_at;
    std::optional<Instant> completed_at;
    std::optional<std::string> output;
    std::optional<Version> pinned;
    HistoryLog history;
    bool operator==(const ExecutionImage&) const = default;
};

struct RowImage {
    std::uint64_t number = 0; // in order of creation
    std::string name;
    std::string version;
    std::optional<std::string> parent;
    Instant created_at;
    Instant updated_at;
    std::uint64_t current_execution = 0;
    bool operator==(const RowImage&) const = default;
};

struct KvChangeImage {
    std::optional<std::string> value; // nullopt: deleted
    std::uint64_t last_updated_at_ms = 0;
    bool operator==(const KvChangeImage&) const = default;
};

struct InstanceImage {
    std::string id;
    std::uint64_t incarnation = 0; // of the id: deleted and made again, it has another
    std::uint64_t revision = 0;
    std::optional<RowImage> row;
    std::vector<ExecutionImage> executions; // ascending by id
    CustomStatus custom_status;
    KvSnapshot kv;
    std::map<std::string, KvChangeImage, std::less<>> kv_changes;
    Instant hidden_until;
    Instant hidden_at;
    Seq hidden_seq = 0;
    std::optional<Parked> parked;
    std::vector<MessageImage> messages; // ascending by seq
    std::vector<WorkImage> work;        // ascending by seq
    bool operator==(const InstanceImage&) const = default;
};

struct RestImage {
    Seq next_seq = 1;
    std::uint64_t next_number = 1;
    std::uint64_t next_incarnation = 1;
    std::uint64_t revision = 0;
    std::uint64_t expired_total = 0;
    std::vector<QuarantinedItem> quarantine;
    std::vector<QuarantinedItem> expired; // the newest
    bool operator==(const RestImage&) const = default;
};

[[nodiscard]] InstanceImage image_of(const Instance& instance);
[[nodiscard]] MessageImage image_of(const Message& message);

// The ids whose durable state changes when the record is applied.
[[nodiscard]] std::vector<std::string> touched(Ledger& ledger, const Record& record);

[[nodiscard]] std::uint64_t history_bytes(const Instance& instance);

// Whether the instance has ended and nothing of it is queued or leased: it may never change again.
[[nodiscard]] bool settled(const Instance& instance);

} // namespace durable::ledger
