// What the naive provider delivers: which turns are ready, for whom, and in which order.

#pragma once

#include "naive_store.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace durable::testing::naive {

class NaiveTurns : protected NaiveStore {
 protected:
    using NaiveStore::NaiveStore;
    ~NaiveTurns() = default;

    // ---- fetching a turn

    [[nodiscard]] bool leased(const std::string& id) const {
        const auto lease = leases_.find(id);
        return lease != leases_.end() && lease->second.until > steady();
    }
    [[nodiscard]] bool deliverable(const std::string& id, const Message& message) const {
        return target_instance(message.item) == id && message.deliverable() <= now();
    }
    // Ended by a cancellation that was not there yet.
    [[nodiscard]] bool hidden(const std::string& id) const {
        const auto hidden = hidden_.find(id);
        return hidden != hidden_.end() && hidden->second.until > now() &&
               std::ranges::none_of(messages_, [&](const Message& message) {
                   return deliverable(id, message) &&
                          std::holds_alternative<work::CancelInstance>(message.item) &&
                          (message.seq > hidden->second.last_seq ||
                           message.deliverable() > hidden->second.since);
               });
    }
    [[nodiscard]] bool within_capabilities(const std::string& id,
                                           const FetchOrchestration& request) {
        const auto row = rows_.find(id);
        if (!request.filter || row == rows_.end()) {
            return true;
        }
        const auto execution = executions_.find({id, row->second.execution});
        return execution == executions_.end() || !execution->second.pinned ||
               request.filter->matches(*execution->second.pinned);
    }
    // Some fetch could be given a turn of it.
    [[nodiscard]] bool ready(const std::string& id) {
        return !leased(id) && !hidden(id) && startable(id) &&
               std::ranges::any_of(
                   messages_, [&](const Message& message) { return deliverable(id, message); });
    }
    [[nodiscard]] bool allowed(const std::string& id, const FetchOrchestration& request) {
        return within_capabilities(id, request) && has_code(id, request) &&
               !(request.one_suspect && suspect(id) && suspect_under_way());
    }
    [[nodiscard]] std::optional<history::OrchestrationStarted> started(const std::string& id) {
        for (const auto& event : events_of({id, latest(id)})) {
            if (const auto* found = std::get_if<history::OrchestrationStarted>(&event.kind)) {
                return *found;
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool startable(const std::string& id) {
        if (pending(id)) {
            const auto own = std::ranges::find_if(messages_, [&](const Message& message) {
                return target_instance(message.item) == id &&
                       std::holds_alternative<work::StartOrchestration>(message.item);
            });
            return own != messages_.end() && own->deliverable() <= now();
        }
        return rows_.contains(id) || started(id) ||
               std::ranges::any_of(messages_, [&](const Message& message) {
                   return deliverable(id, message) && is_start(message.item);
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
        const bool lone_suspect = request.one_suspect && suspect(id);
        std::vector<const Message*> order;
        for (auto& message : messages_) {
            if (deliverable(id, message)) {
                message.token = item.lock_token;
                item.attempt_count = std::max(item.attempt_count, ++message.attempts);
                order.push_back(&message);
            }
        }
        put_in_order(order);
        for (const auto* message : order) {
            item.messages.push_back(message->item);
        }
        leases_[id] = {.token = item.lock_token,
                       .until = steady() + request.lock_timeout,
                       .lone_suspect = lone_suspect};
        hidden_.erase(id);
        if (const auto row = rows_.find(id); row != rows_.end()) {
            item.orchestration_name = row->second.name;
            item.version = row->second.version;
            item.execution_id = row->second.execution;
            item.history = events_of({id, item.execution_id});
        } else if (const auto from_history = started(id)) {
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

    // ---- P14: the code that a turn needs

    // Name and version ("" or "unknown": any); nullopt: no code.
    using Need = std::optional<std::pair<std::string, std::string>>;

    template <class... Kinds>
    [[nodiscard]] Need named_by_the_first(const std::string& id) const {
        for (const auto& message : messages_) {
            if (!deliverable(id, message) ||
                !(std::holds_alternative<Kinds>(message.item) || ...)) {
                continue;
            }
            if (const auto* start = std::get_if<work::StartOrchestration>(&message.item)) {
                return std::pair{start->orchestration, start->version.value_or("")};
            }
            const auto& next = std::get<work::ContinueAsNew>(message.item);
            return std::pair{next.orchestration, next.version.value_or("")};
        }
        return std::nullopt;
    }
    [[nodiscard]] Need code_needed(const std::string& id) {
        const auto row = rows_.find(id);
        if (row == rows_.end()) {
            if (const auto from_history = started(id)) {
                return std::pair{from_history->name, from_history->version};
            }
            return named_by_the_first<work::StartOrchestration, work::ContinueAsNew>(id);
        }
        const auto* execution = current(id);
        const auto status = execution != nullptr ? execution->status : ExecutionStatus::running;
        if (status == ExecutionStatus::continued_as_new) {
            return named_by_the_first<work::ContinueAsNew>(id);
        }
        if (status == ExecutionStatus::completed || status == ExecutionStatus::failed) {
            return std::nullopt;
        }
        return std::pair{row->second.name, row->second.version};
    }
    [[nodiscard]] bool has_code(const std::string& id, const FetchOrchestration& request) {
        const auto need = code_needed(id);
        if (request.code == nullptr || !need || request.code->has(need->first, need->second)) {
            return true;
        }
        const auto& patience = request.code->cancelled_for;
        return patience && std::ranges::any_of(messages_, [&](const Message& message) {
                   return deliverable(id, message) &&
                          std::holds_alternative<work::CancelInstance>(message.item) &&
                          message.deliverable() + *patience <= now();
               });
    }

    // ---- P16: one suspect at a time

    [[nodiscard]] bool suspect(const std::string& id) const {
        return std::ranges::any_of(messages_, [&](const Message& message) {
            return deliverable(id, message) && message.attempts >= suspect_after;
        });
    }
    [[nodiscard]] bool suspect_under_way() const {
        return std::ranges::any_of(leases_,
                                   [&](const auto& entry) {
                                       return entry.second.lone_suspect &&
                                              entry.second.until > steady();
                                   }) ||
               std::ranges::any_of(works_, [&](const Work& work) {
                   return work.lone_suspect && !work.token.empty() && work.until > steady();
               });
    }

    // ---- what does not go on

    [[nodiscard]] std::vector<ParkedWork> parked(Instant latest_since) {
        std::vector<ParkedWork> found;
        std::set<std::string> ids;
        for (const auto& message : messages_) {
            ids.insert(target_instance(message.item));
        }
        for (const auto& [id, row] : rows_) {
            if (row.parked) {
                found.push_back({.instance = id,
                                 .name = row.name,
                                 .version = row.version == "unknown" ? "" : row.version,
                                 .attempts = attempts_of(id),
                                 .since = row.parked->since,
                                 .reason = row.parked->reason});
                ids.erase(id);
            }
        }
        for (const auto& id : ids) {
            const auto oldest = std::ranges::find_if(
                messages_, [&](const Message& message) { return deliverable(id, message); });
            if (!ready(id) || oldest->deliverable() > latest_since) {
                continue;
            }
            const auto need = code_needed(id).value_or(std::pair{"", ""});
            found.push_back({.instance = id,
                             .name = need.first,
                             .version = need.second == "unknown" ? "" : need.second,
                             .attempts = attempts_of(id),
                             .since = oldest->deliverable()});
        }
        for (const auto& work : works_) {
            const bool free = work.token.empty() || work.until <= steady();
            if (free && work.visible <= now() && work.visible <= latest_since) {
                found.push_back({.kind = ParkedWork::Kind::activity,
                                 .instance = work.item.instance,
                                 .name = work.item.name,
                                 .attempts = work.attempts,
                                 .since = work.visible});
            }
        }
        std::ranges::sort(found, {}, [](const ParkedWork& work) {
            return std::tie(work.since, work.instance, work.kind, work.name);
        });
        return found;
    }
    [[nodiscard]] std::uint32_t attempts_of(const std::string& id) const {
        std::uint32_t attempts = 0;
        for (const auto& message : messages_) {
            if (target_instance(message.item) == id) {
                attempts = std::max(attempts, message.attempts);
            }
        }
        return attempts;
    }
};

} // namespace durable::testing::naive
