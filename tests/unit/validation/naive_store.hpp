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
};

struct Message {
    std::uint64_t seq = 0;
    WorkItem item;
    Instant visible;
    std::uint32_t attempts = 0;
    std::string token;
};

struct Work {
    std::uint64_t seq = 0;
    work::ActivityExecute item;
    Instant visible;
    std::uint32_t attempts = 0;
    std::string token;
    SteadyInstant until;
};

struct Lease {
    std::string token;
    SteadyInstant until;
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

    // ---- fetching a turn

    [[nodiscard]] bool leased(const std::string& id) const {
        const auto lease = leases_.find(id);
        return lease != leases_.end() && lease->second.until > steady();
    }
    [[nodiscard]] bool hidden(const std::string& id) const {
        const auto until = not_before_.find(id);
        return until != not_before_.end() && until->second > now();
    }
    [[nodiscard]] bool allowed(const std::string& id, const FetchOrchestration& request) {
        const auto row = rows_.find(id);
        if (!request.filter || row == rows_.end()) {
            return true;
        }
        const auto execution = executions_.find({id, row->second.execution});
        return execution == executions_.end() || !execution->second.pinned ||
               request.filter->matches(*execution->second.pinned);
    }
    [[nodiscard]] const history::OrchestrationStarted* started(const std::string& id) {
        for (const auto& event : histories_[{id, latest(id)}]) {
            if (const auto* found = std::get_if<history::OrchestrationStarted>(&event.kind)) {
                return found;
            }
        }
        return nullptr;
    }
    [[nodiscard]] bool startable(const std::string& id) {
        return rows_.contains(id) || started(id) != nullptr ||
               std::ranges::any_of(messages_, [&](const Message& message) {
                   return target_instance(message.item) == id && message.visible <= now() &&
                          is_start(message.item);
               });
    }
    // As they went in; a timer behind the last that was there before it was due.
    static void put_in_order(std::vector<const Message*>& messages) {
        std::vector<const Message*> timers;
        std::erase_if(messages, [&](const Message* message) {
            const auto timer = std::holds_alternative<work::TimerFired>(message->item);
            if (timer) {
                timers.push_back(message);
            }
            return timer;
        });
        const auto before = [](const Message* a, const Message* b) {
            return std::tie(a->visible, a->seq) < std::tie(b->visible, b->seq);
        };
        std::ranges::sort(timers, before);
        for (const auto* timer : timers) {
            auto place = messages.end();
            while (place != messages.begin() && !before(*std::prev(place), timer)) {
                --place;
            }
            messages.insert(place, timer);
        }
    }
    OrchestrationItem lease(const std::string& id, const FetchOrchestration& request) {
        OrchestrationItem item{.instance = id, .execution_id = 1};
        item.lock_token = "turn " + std::to_string(++tokens_);
        std::vector<const Message*> order;
        for (auto& message : messages_) {
            if (target_instance(message.item) == id && message.visible <= now()) {
                message.token = item.lock_token;
                item.attempt_count = std::max(item.attempt_count, ++message.attempts);
                order.push_back(&message);
            }
        }
        put_in_order(order);
        for (const auto* message : order) {
            item.messages.push_back(message->item);
        }
        leases_[id] = {.token = item.lock_token, .until = steady() + request.lock_timeout};
        if (const auto row = rows_.find(id); row != rows_.end()) {
            item.orchestration_name = row->second.name;
            item.version = row->second.version;
            item.execution_id = row->second.execution;
            item.history = events_of({id, item.execution_id});
        } else if (const auto* from_history = started(id)) {
            item.orchestration_name = from_history->name;
            item.version = from_history->version;
            item.execution_id = latest(id);
            item.history = events_of({id, item.execution_id});
        } else {
            name_from_messages(item);
            item.execution_id = latest(id);
            item.history = events_of({id, item.execution_id});
        }
        for (const auto& [key, entry] : stores_[id]) {
            item.kv_snapshot.emplace(key, entry);
        }
        return item;
    }
    static void name_from_messages(OrchestrationItem& item) {
        for (const auto& message : item.messages) {
            if (const auto* start = std::get_if<work::StartOrchestration>(&message)) {
                item.orchestration_name = start->orchestration;
                item.version = start->version.value_or("unknown");
                return;
            }
            if (const auto* next = std::get_if<work::ContinueAsNew>(&message)) {
                item.orchestration_name = next->orchestration;
                item.version = next->version.value_or("unknown");
                return;
            }
        }
    }

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
    [[nodiscard]] std::string status_of(const std::string& id) const {
        const auto found = executions_.find({id, rows_.at(id).execution});
        return found != executions_.end() ? std::string{name_of(found->second.status)} : "Unknown";
    }

    std::mutex mutex_;
    std::shared_ptr<Clock> clock_;
    std::map<std::string, Row> rows_;
    std::map<Key, Execution> executions_;
    std::map<Key, std::vector<HistoryEvent>> histories_;
    std::vector<Message> messages_; // by seq
    std::vector<Work> works_;       // by seq
    std::map<std::string, Lease> leases_;
    std::map<std::string, Instant> not_before_;
    std::map<std::string, Session> sessions_;
    std::map<std::string, std::map<std::string, KvEntry>> stores_;
    std::map<std::string, std::map<std::string, std::optional<KvEntry>>> deltas_;
    std::uint64_t seq_ = 0;
    std::uint64_t tokens_ = 0;
    std::uint64_t rows_made_ = 0;
};

} // namespace durable::testing::naive
