// Turns: which instance is next and for whom, and what becomes of its messages.

#pragma once

#include "store.hpp"

#include <durable/codec.hpp>

#include <iterator>
#include <tuple>

namespace files_store {

class Turns : public Provider, protected Store {
 public:
    using Store::Store;

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        return poll(
            "fetch_orchestration_item",
            request.poll_timeout,
            request.stop,
            [&] { return next_turn(request); },
            request.code ? request.code->cancelled_for : std::nullopt);
    }

    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        return change("abandon_orchestration_item", [&] {
            const auto owner = owner_of(abandon.lock_token, false);
            give_back(owner->first, owner->second, abandon);
            turns_.erase(owner);
        });
    }

    Result<> renew_orchestration_item_lock(const std::string& token, Duration by) override {
        return change("renew_orchestration_item_lock",
                      [&] { owner_of(token, true)->second.until = lease_end(by); });
    }

    // One change makes the row and queues the start (P15).
    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override {
        return change("start_instance", [&] {
            const auto& id = start.instance;
            const auto step = records_.enqueue(orchestrator_queue, start, now(), after(delay));
            const auto queued = inboxes();
            const auto inbox = queued.find(id);
            if (records_.meta(id) || (inbox != queued.end() && inbox->second.first_start())) {
                refuse(ErrorCode::already_exists, "instance \"" + id + "\" exists");
            }
            const auto number = directory_.next_number();
            directory_.change({store(path_of(id) + "/meta.json",
                                     Meta{.id = id,
                                          .name = start.orchestration,
                                          .version = start.version.value_or("unknown"),
                                          .parent = start.parent_instance,
                                          .created = number,
                                          .incarnation = number,
                                          .revision = number,
                                          .created_at_ms = now(),
                                          .updated_at_ms = now()}),
                               step});
        });
    }

    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        return change("enqueue_for_orchestrator",
                      [&] { directory_.change({queue_message(item, after(delay))}); });
    }

 protected:
    [[nodiscard]] Step queue_message(const WorkItem& item, Millis due) {
        if (const auto* timer = std::get_if<work::TimerFired>(&item)) {
            const auto fires = from_epoch_ms(timer->fire_at_ms);
            due = std::max<Millis>(due, fires.time_since_epoch().count());
        }
        return records_.enqueue(orchestrator_queue, item, now(), due);
    }

    // The code that a turn needs (P14). nullopt: none. No version, or "unknown": any.
    using Code = std::optional<std::pair<std::string, std::string>>;
    [[nodiscard]] Code
    code_needed(const std::string& id, const Inbox& inbox, const Row& row) const {
        if (row.ended()) {
            return std::nullopt;
        }
        const bool between = row.is(ExecutionStatus::continued_as_new);
        if (row.meta && !between) {
            return std::pair{row.meta->name, row.meta->version};
        }
        if (!row.meta) {
            if (const auto start = stored_start(id)) {
                return std::pair{start->name, start->version};
            }
        }
        for (const auto& message : inbox.due) {
            if (const auto* next = std::get_if<work::ContinueAsNew>(&message.item)) {
                return std::pair{next->orchestration, next->version.value_or("")};
            }
            const auto* start = std::get_if<work::StartOrchestration>(&message.item);
            if (start != nullptr && !between) {
                return std::pair{start->orchestration, start->version.value_or("")};
            }
        }
        return std::nullopt;
    }

    // Some fetch could be given a turn of it.
    [[nodiscard]] bool ready(const std::string& id, const Inbox& inbox, const Row& row) const {
        const auto lease = turns_.find(id);
        if (inbox.due.empty() || (lease != turns_.end() && live(lease->second)) ||
            is_hidden(id, inbox)) {
            return false;
        }
        if (row.pending) { // P15: it waits for its own start
            const auto* start = inbox.first_start();
            return start != nullptr && start->deliverable(now());
        }
        return row.meta || inbox.has_start() || stored_start(id);
    }
    // Given back as a whole. Only a cancellation that the turn was not given ends it early.
    [[nodiscard]] bool is_hidden(const std::string& id, const Inbox& inbox) const {
        const auto hidden = records_.hidden(id);
        return hidden.until_ms > now() &&
               std::ranges::none_of(inbox.due, [&](const Queued& message) {
                   return message.is<work::CancelInstance>() &&
                          (message.number > hidden.number ||
                           message.deliverable_from() > hidden.since_ms);
               });
    }

    using Owner = std::map<std::string, Lease>::iterator;

    [[nodiscard]] Owner owner_of(const std::string& token, bool alive) { // P3
        const auto owner =
            std::ranges::find_if(turns_, [&](const auto& e) { return e.second.token == token; });
        if (owner == turns_.end()) {
            refuse(ErrorCode::lock_lost, "Invalid lock token");
        }
        if (alive && !live(owner->second)) {
            refuse(ErrorCode::lock_lost, "the lease on \"" + owner->first + "\" has expired");
        }
        return owner;
    }

 private:
    [[nodiscard]] std::optional<OrchestrationItem> next_turn(const FetchOrchestration& request) {
        if (request.filter && request.filter->supported.empty()) {
            return std::nullopt;
        }
        const auto all = inboxes();
        std::vector<std::pair<std::uint64_t, const Inboxes::value_type*>> order; // P5
        for (const auto& entry : all) {
            if (!entry.second.due.empty()) {
                order.emplace_back(entry.second.due.front().number, &entry);
            }
        }
        std::ranges::sort(order);
        for (const auto& [number, entry] : order) {
            const auto& [id, inbox] = *entry;
            const auto row = this->row(id);
            if (ready(id, inbox, row) && allowed(id, inbox, row, request)) {
                return lease(id, inbox, row, request);
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool allowed(const std::string& id,
                               const Inbox& inbox,
                               const Row& row,
                               const FetchOrchestration& request) const {
        if (request.filter && row.current && row.current->pinned) {
            const auto pinned = Version::parse(*row.current->pinned);
            if (pinned && !request.filter->matches(*pinned)) {
                return false;
            }
        }
        if (request.one_suspect && std::ranges::any_of(inbox.due, &Queued::suspect) &&
            suspect_under_way()) {
            return false;
        }
        const auto code = request.code ? code_needed(id, inbox, row) : std::nullopt;
        return !code || request.code->has(code->first, code->second) ||
               (request.code->cancelled_for &&
                std::ranges::any_of(inbox.due, [&](const Queued& message) {
                    return message.is<work::CancelInstance>() &&
                           message.deliverable_since(*request.code->cancelled_for) <= now();
                }));
    }

    // As they went in. A timer stands behind the last message that was there before it was due.
    [[nodiscard]] static std::vector<Queued> in_order(const std::vector<Queued>& due) {
        std::vector<Queued> order;
        std::vector<Queued> timers;
        for (const auto& message : due) {
            (message.is<work::TimerFired>() ? timers : order).push_back(message);
        }
        const auto arrival = [](const Queued& m) {
            return std::tuple{m.about.arrived_at_ms, m.number};
        };
        std::ranges::sort(timers, {}, arrival);
        for (auto& timer : timers) {
            auto place = order.end();
            while (place != order.begin() && arrival(*std::prev(place)) > arrival(timer)) {
                --place;
            }
            order.insert(place, std::move(timer));
        }
        return order;
    }

    [[nodiscard]] OrchestrationItem lease(const std::string& id,
                                          const Inbox& inbox,
                                          const Row& row,
                                          const FetchOrchestration& request) {
        OrchestrationItem item{.instance = id, .lock_token = new_token()};
        item.incarnation = row.meta ? row.meta->incarnation : inbox.incarnation();
        Lease lease{.token = item.lock_token,
                    .until = lease_end(request.lock_timeout),
                    .lone_suspect =
                        request.one_suspect && std::ranges::any_of(inbox.due, &Queued::suspect),
                    .incarnation = item.incarnation};
        Change counted; // P7: before the work runs
        for (auto& message : in_order(inbox.due)) {
            item.attempt_count = std::max(item.attempt_count, ++message.about.attempts);
            counted.push_back(Records::store(message));
            lease.files.push_back(message.file);
            item.messages.push_back(std::move(message.item));
        }
        if (records_.hidden(id).until_ms != 0) {
            counted.push_back(removal(path_of(id) + "/hidden.json"));
        }
        identify(item, row);
        add_history(item, request.cached);
        directory_.change(counted);
        turns_[id] = std::move(lease); // P13: nothing can fail any more
        return item;
    }
    void identify(OrchestrationItem& item, const Row& row) const {
        const auto is_now = [&](const std::string& name, const std::string& version) {
            item.orchestration_name = name;
            item.version = version;
        };
        if (row.meta) {
            item.execution_id = row.meta->execution;
            return is_now(row.meta->name, row.meta->version);
        }
        item.execution_id = records_.latest(item.instance);
        if (const auto start = stored_start(item.instance)) {
            return is_now(start->name, start->version);
        }
        for (const auto& message : item.messages) {
            if (const auto* start = std::get_if<work::StartOrchestration>(&message)) {
                return is_now(start->orchestration, start->version.value_or("unknown"));
            }
            if (const auto* next = std::get_if<work::ContinueAsNew>(&message)) {
                return is_now(next->orchestration, next->version.value_or("unknown"));
            }
        }
    }
    void add_history(OrchestrationItem& item, const CachedHistoryLookup& cached) const {
        try {
            const auto events = records_.events(item.instance, item.execution_id);
            const auto held = cached ? cached(item.instance) : std::nullopt;
            const auto knows = [&](const auto& event) {
                return event.first == held->last_event_id;
            };
            if (held && held->execution_id == item.execution_id &&
                (held->incarnation == 0 || held->incarnation == item.incarnation) &&
                std::ranges::any_of(events, knows)) {
                item.history_after = held->last_event_id;
            }
            for (const auto& [id, text] : events) {
                if (id > item.history_after || id == 0) {
                    auto event = decode_event(text);
                    if (!event) {
                        refuse(ErrorCode::corrupt, event.error().message);
                    }
                    item.history.push_back(*std::move(event));
                }
            }
        } catch (const Refusal& damage) { // P8: the turn can still be ended
            item.history.clear();
            item.history_after = 0;
            item.history_error = std::string{"stored history does not decode: "} + damage.what();
            return;
        }
        if (item.history_after == 0) {
            for (const auto& [key, entry] : records_.values(item.instance).kept) {
                item.kv_snapshot[key] = {.value = entry.value.value_or(""),
                                         .last_updated_at_ms = entry.last_updated_at_ms};
            }
        }
    }

    void give_back(const std::string& id, const Lease& lease, const AbandonTurn& abandon) {
        Change change;
        const bool hides = abandon.delay && *abandon.delay > Duration::zero();
        bool cancelled = false; // meanwhile
        for (auto& message : records_.items(orchestrator_queue, now())) {
            if (!contains(lease.files, message.file)) {
                cancelled =
                    cancelled || (target_instance(message.item) == id &&
                                  message.is<work::CancelInstance>() && message.deliverable(now()));
                continue;
            }
            message.about.attempts -=
                abandon.ignore_attempt && message.about.attempts > 0 ? 1U : 0U;
            if (hides && !abandon.whole_instance) {
                message.about.hidden_until_ms = after(abandon.delay);
            }
            change.push_back(Records::store(message));
        }
        if (hides && abandon.whole_instance && !cancelled) {
            change.push_back(store(path_of(id) + "/hidden.json",
                                   Hidden{.since_ms = now(),
                                          .until_ms = after(abandon.delay),
                                          .number = directory_.next_number()}));
        }
        auto meta = records_.meta(id);
        if (abandon.parked && meta && meta->parked != abandon.parked) {
            meta->parked = abandon.parked;
            meta->parked_at_ms = now();
            meta->revision = directory_.next_number();
            change.push_back(store(path_of(id) + "/meta.json", *meta));
        }
        if (abandon.parked) {
            check_text(*abandon.parked);
        }
        directory_.change(change);
    }
};

} // namespace files_store
