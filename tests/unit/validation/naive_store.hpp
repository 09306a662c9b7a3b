// The state of the naive provider and what every part of it asks.

#pragma once

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/work_item.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace durable::testing::naive {

struct Execution {
    ExecutionStatus status = ExecutionStatus::running;
    std::optional<std::string> output;
    Instant started_at;
    std::optional<Instant> completed_at;
    std::optional<Version> pinned;
};

struct Row { // of an instance
    std::string name;
    std::string version;
    std::uint64_t execution = 1;
    std::optional<std::string> parent;
    CustomStatus status;
    Instant created;
    Instant updated;
    std::uint64_t number = 0; // creation order
    std::optional<Parked> parked;
};

struct Message {
    std::uint64_t seq = 0;
    WorkItem item;
    Instant visible; // which the order of timers goes by
    std::uint32_t attempts = 0;
    std::string token;
    Instant hidden{}; // by an abandon, until then

    [[nodiscard]] Instant deliverable() const { return std::max(visible, hidden); }
};

struct Work {
    std::uint64_t seq = 0;
    work::ActivityExecute item;
    Instant visible;
    std::uint32_t attempts = 0;
    std::string token;
    SteadyInstant until;
    bool lone_suspect = false; // the lease is what other suspects wait for
};

struct Lease {
    std::string token;
    SteadyInstant until;
    bool lone_suspect = false;
};

struct Hidden { // a whole instance
    Instant since;
    Instant until;
    std::uint64_t last_seq = 0; // when it was hidden
};

struct Session {
    std::string owner;
    SteadyInstant until;
    SteadyInstant active;
};

using Key = std::pair<std::string, std::uint64_t>;

inline bool is_start(const WorkItem& item) {
    return std::holds_alternative<work::StartOrchestration>(item) ||
           std::holds_alternative<work::ContinueAsNew>(item);
}

class NaiveStore {
 protected:
    explicit NaiveStore(std::shared_ptr<Clock> clock) : clock_{std::move(clock)} {}
    ~NaiveStore() = default;

    [[nodiscard]] Instant now() const { return clock_->now(); }
    [[nodiscard]] SteadyInstant steady() const { return clock_->steady(); }

    // ---- committing a turn

    [[nodiscard]] std::optional<std::string> owner_of(const std::string& token) const {
        for (const auto& [id, lease] : leases_) {
            if (lease.token == token) {
                return id;
            }
        }
        return std::nullopt;
    }
    Result<> check_events(const Key& key, const std::vector<HistoryEvent>& events, const char* op) {
        std::set<std::uint64_t> ids{0};
        for (const auto& event : histories_[key]) {
            ids.insert(event.event_id);
        }
        for (const auto& event : events) {
            if (!ids.insert(event.event_id).second) {
                return fail(ErrorCode::invalid_argument, "event id 0 or taken", op);
            }
        }
        return {};
    }
    void apply_metadata(const Key& key, const ExecutionMetadata& metadata) {
        const auto& id = key.first;
        if (metadata.orchestration_name && metadata.orchestration_version) {
            if (!rows_.contains(id)) {
                rows_[id] = {.execution = key.second, .created = now(), .number = ++rows_made_};
            }
            auto& row = rows_[id];
            row.name = *metadata.orchestration_name;
            row.version = *metadata.orchestration_version;
            if (!row.parent) {
                row.parent = metadata.parent_instance_id;
            }
        }
        if (!executions_.contains(key)) {
            executions_[key] = {.started_at = now()};
        }
        auto& execution = executions_[key];
        if (metadata.pinned_version) {
            execution.pinned = metadata.pinned_version;
        }
        if (const auto row = rows_.find(id); row != rows_.end()) {
            row->second.parked.reset();
            row->second.execution = std::max(row->second.execution, key.second);
            row->second.updated = now();
        }
        if (metadata.status) {
            execution.status = *metadata.status;
            execution.output = metadata.output;
            execution.completed_at =
                *metadata.status == ExecutionStatus::running ? std::nullopt : std::optional{now()};
        }
    }
    void apply_events(const Key& key, const std::vector<HistoryEvent>& events) {
        auto& stored = histories_[key];
        stored.insert(stored.end(), events.begin(), events.end());
        std::ranges::sort(stored, {}, &HistoryEvent::event_id);
        if (stored.empty()) {
            histories_.erase(key);
        }
    }
    void apply_kv(const Key& key, const TurnCommit& commit) {
        const auto& id = key.first;
        auto& delta = deltas_[id];
        const CustomStatus* last = nullptr;
        CustomStatus next;
        for (const auto& event : commit.history_delta) {
            if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
                delta[set->key] =
                    KvEntry{.value = set->value, .last_updated_at_ms = set->last_updated_at_ms};
            } else if (const auto* clear = std::get_if<history::KeyValueCleared>(&event.kind)) {
                delta[clear->key] = std::nullopt;
            } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
                for (auto& [name, value] : delta) {
                    value = std::nullopt;
                }
                for (const auto& [name, value] : stores_[id]) {
                    delta[name] = std::nullopt;
                }
            } else if (const auto* status =
                           std::get_if<history::CustomStatusUpdated>(&event.kind)) {
                next.status = status->status;
                last = &next;
            }
        }
        if (const auto row = rows_.find(id); row != rows_.end() && last != nullptr) {
            row->second.status = {.status = last->status,
                                  .version = row->second.status.version + 1};
        }
        if (commit.metadata.status && *commit.metadata.status != ExecutionStatus::running) {
            for (const auto& [name, value] : delta) {
                if (value) {
                    stores_[id][name] = *value;
                } else {
                    stores_[id].erase(name);
                }
            }
            delta.clear();
        }
    }
    void push(const WorkItem& item, Instant visible) {
        if (const auto* timer = std::get_if<work::TimerFired>(&item)) {
            visible = std::max(visible, from_epoch_ms(timer->fire_at_ms));
        }
        messages_.push_back({.seq = ++seq_, .item = item, .visible = visible});
    }

    // ---- activities

    [[nodiscard]] bool session_open(const std::optional<std::string>& id,
                                    const std::optional<SessionClaim>& claim) const {
        if (!id) {
            return true;
        }
        if (!claim) {
            return false;
        }
        const auto session = sessions_.find(*id);
        const bool live = session != sessions_.end() && session->second.until > steady();
        return live ? session->second.owner == claim->owner_id : claim->claim_new;
    }
    Result<Work*> live_work(const std::string& token, const char* op) {
        const auto work = std::ranges::find(works_, token, &Work::token);
        if (work == works_.end() || work->until <= steady()) {
            return fail(ErrorCode::lock_lost, "no live lease", op);
        }
        return &*work;
    }
    void touch(const std::optional<std::string>& id) {
        const auto session = id ? sessions_.find(*id) : sessions_.end();
        if (session != sessions_.end() && session->second.until > steady()) {
            session->second.active = steady();
        }
    }

    // ---- reading

    [[nodiscard]] std::vector<HistoryEvent> events_of(const Key& key) const {
        const auto found = histories_.find(key);
        return found != histories_.end() ? found->second : std::vector<HistoryEvent>{};
    }
    [[nodiscard]] std::uint64_t latest(const std::string& id) const {
        std::uint64_t last = 0;
        for (const auto& [key, execution] : executions_) {
            last = key.first == id ? std::max(last, key.second) : last;
        }
        return last == 0 ? 1 : last;
    }
    [[nodiscard]] std::map<std::string, std::string> merged(const std::string& id) {
        std::map<std::string, std::string> all;
        for (const auto& [key, entry] : stores_[id]) {
            all[key] = entry.value;
        }
        for (const auto& [key, entry] : deltas_[id]) {
            if (entry) {
                all[key] = entry->value;
            } else {
                all.erase(key);
            }
        }
        return all;
    }
    [[nodiscard]] const Execution* current(const std::string& id) const {
        const auto found = executions_.find({id, rows_.at(id).execution});
        return found != executions_.end() ? &found->second : nullptr;
    }
    // Started, and neither an execution nor history yet.
    [[nodiscard]] bool pending(const std::string& id) const {
        return rows_.contains(id) &&
               std::ranges::none_of(executions_,
                                    [&](const auto& entry) { return entry.first.first == id; }) &&
               std::ranges::none_of(histories_, [&](const auto& entry) {
                   return entry.first.first == id && !entry.second.empty();
               });
    }
    [[nodiscard]] std::string status_of(const std::string& id) const {
        if (const auto* execution = current(id)) {
            return std::string{name_of(execution->status)};
        }
        return pending(id) ? "Pending" : "Unknown";
    }

    std::mutex mutex_;
    std::shared_ptr<Clock> clock_;
    std::map<std::string, Row> rows_;
    std::map<Key, Execution> executions_;
    std::map<Key, std::vector<HistoryEvent>> histories_;
    std::vector<Message> messages_; // by seq
    std::vector<Work> works_;       // by seq
    std::map<std::string, Lease> leases_;
    std::map<std::string, Hidden> hidden_;
    std::map<std::string, Session> sessions_;
    std::map<std::string, std::map<std::string, KvEntry>> stores_;
    std::map<std::string, std::map<std::string, std::optional<KvEntry>>> deltas_;
    std::uint64_t seq_ = 0;
    std::uint64_t tokens_ = 0;
    std::uint64_t rows_made_ = 0;
};

} // namespace durable::testing::naive
