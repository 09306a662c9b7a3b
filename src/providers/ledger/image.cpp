#include "providers/ledger/image.hpp"

#include "providers/ledger/ledger.hpp"

#include <algorithm>
#include <utility>

namespace durable::ledger {

namespace {

ExecutionImage image_of(const Execution& execution) {
    return {.id = execution.id,
            .recorded = execution.recorded,
            .status = execution.status,
            .started_at = execution.started_at,
            .completed_at = execution.completed_at(),
            .output = execution.output ? std::optional{*execution.output} : std::nullopt,
            .pinned = execution.pinned != nullptr ? std::optional{*execution.pinned} : std::nullopt,
            .history = execution.history};
}

WorkImage image_of(const WorkEntry& entry) {
    const auto* session = entry.group->session;
    return {.work = {.seq = entry.seq,
                     .activity = {.instance = std::string{entry.instance->id()},
                                  .execution_id = entry.execution_id,
                                  .activity_id = entry.activity_id},
                     .session = session != nullptr ? std::optional{session->id} : std::nullopt,
                     .tag = entry.group->shelf->tag,
                     .name = entry.group->shelf->name,
                     .visible_at = entry.visible_at,
                     .text = std::string{entry.text.view()}},
            .attempts = entry.attempts};
}

RowImage row_of(const Instance& instance) {
    return {.number = instance.number,
            .name = *instance.name,
            .version = *instance.version,
            .parent = instance.parent != nullptr ? std::optional{*instance.parent} : std::nullopt,
            .created_at = instance.created_at,
            .updated_at = instance.updated_at,
            .current_execution = instance.current_execution};
}

// Which instances an operation touches.
class Touched {
 public:
    explicit Touched(Ledger& ledger) : ledger_{ledger} {}

    void operator()(const op::EnqueueMessage& operation) { add(operation.message.instance); }
    void operator()(const op::StartInstance& operation) { add(operation.message.instance); }
    void operator()(const op::EnqueueWork& operation) { add(operation.work.activity.instance); }
    void operator()(const op::FetchTurn& operation) { add(operation.instance); }
    void operator()(const op::FetchWork& operation) { add_work(operation.seq); }
    void operator()(const op::CommitTurn& operation) {
        add(operation.instance);
        for (const auto& work : operation.work) {
            add(work.activity.instance);
        }
        std::ranges::for_each(operation.cancelled_work, [this](Seq seq) { add_work(seq); });
        for (const auto& message : operation.messages) {
            add(message.instance);
        }
    }
    void operator()(const op::AbandonTurn& operation) { add(operation.instance); }
    void operator()(const op::FinishWork& operation) {
        add_work(operation.seq);
        if (operation.completion) {
            add(operation.completion->instance);
        }
    }
    void operator()(const op::AbandonWork& operation) { add_work(operation.seq); }
    void operator()(const op::Append& operation) { add(operation.instance); }
    void operator()(const op::Delete& operation) {
        ids_.insert(ids_.end(), operation.instances.begin(), operation.instances.end());
        std::ranges::for_each(operation.starts, [this](Seq seq) { add_message(seq); });
    }
    void operator()(const op::Prune& operation) { add(operation.instance); }
    void operator()(const op::Expire& operation) {
        std::ranges::for_each(operation.messages, [this](Seq seq) { add_message(seq); });
    }
    void operator()(const op::Quarantine& operation) {
        operation.queue == Queue::worker ? add_work(operation.seq) : add_message(operation.seq);
    }
    void operator()(const op::QuarantineText&) {}

    [[nodiscard]] std::vector<std::string> ids() && {
        if (ids_.size() > 1) {
            std::ranges::sort(ids_);
            ids_.erase(std::ranges::unique(ids_).begin(), ids_.end());
        }
        return std::move(ids_);
    }

 private:
    // Most operations name the same instance several times in a row.
    void add(std::string_view id) {
        if (ids_.empty() || ids_.back() != id) {
            ids_.emplace_back(id);
        }
    }
    void add_work(Seq seq) {
        if (const auto* entry = ledger_.work.find(seq)) {
            add(entry->instance->id());
        }
    }
    void add_message(Seq seq) {
        if (const auto* message = ledger_.turns.find(seq)) {
            add(message->instance->id());
        }
    }

    Ledger& ledger_;
    std::vector<std::string> ids_;
};

} // namespace

MessageImage image_of(const Message& message) {
    return {.message = {.seq = message.seq,
                        .instance = std::string{message.instance->id()},
                        .visible_at = message.visible_at,
                        .text = message.text(),
                        .kind = message.kind,
                        .execution_id = message.execution_id,
                        .timer_id = message.timer_id},
            .attempts = message.attempts,
            .hidden_until = message.hidden_until};
}

InstanceImage image_of(const Instance& instance) {
    InstanceImage image{.id = std::string{instance.id()},
                        .incarnation = instance.incarnation,
                        .revision = instance.revision,
                        .hidden_until = instance.inbox().hidden_until,
                        .hidden_at = instance.inbox().hidden_at,
                        .hidden_seq = instance.inbox().hidden_seq};
    if (instance.exists()) {
        image.row = row_of(instance);
    }
    image.executions.reserve(instance.executions.size());
    for (const auto& execution : instance.executions) {
        image.executions.push_back(image_of(execution));
    }
    if (instance.extras) {
        image.custom_status = instance.extras->custom_status;
        image.parked = instance.extras->parked;
        image.kv = instance.extras->kv;
        for (const auto& [key, change] : instance.extras->kv_changes) {
            image.kv_changes[key] = {.value = change.value,
                                     .last_updated_at_ms = change.last_updated_at_ms};
        }
    }
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        image.messages.push_back(image_of(*message));
    }
    for (const auto* entry = instance.inbox().work; entry != nullptr; entry = entry->next) {
        image.work.push_back(image_of(*entry));
    }
    std::ranges::sort(image.work, {}, [](const WorkImage& work) { return work.work.seq; });
    return image;
}

std::vector<std::string> touched(Ledger& ledger, const Record& record) {
    Touched visitor{ledger};
    std::visit(visitor, record.operation);
    return std::move(visitor).ids();
}

std::uint64_t history_bytes(const Instance& instance) {
    std::uint64_t bytes = 0;
    for (const auto& execution : instance.executions) {
        bytes += execution.history.bytes();
    }
    return bytes;
}

bool settled(const Instance& instance) {
    const auto* current = instance.exists() ? instance.current() : nullptr;
    return current != nullptr && current->status != ExecutionStatus::running &&
           instance.messages == nullptr && instance.inbox().work == nullptr &&
           instance.inbox().lease == nullptr;
}

// ---- The ledger's side

RestImage Ledger::rest() const {
    return {.next_seq = next_seq_,
            .next_number = instances.next_number(),
            .next_incarnation = instances.next_incarnation(),
            .revision = revision_,
            .expired_total = totals_.expired,
            .quarantine = quarantine_,
            .expired = {expired_.begin(), expired_.end()}};
}

void Ledger::restore(RestImage image) {
    next_seq_ = image.next_seq;
    instances.restore_counters(image.next_number, image.next_incarnation);
    revision_ = image.revision;
    totals_.expired = image.expired_total;
    totals_.quarantined = image.quarantine.size();
    quarantine_ = std::move(image.quarantine);
    expired_.assign(image.expired.begin(), image.expired.end());
}

void Ledger::restore(InstanceImage image, Instant now) {
    restore_instance(std::move(image), now, Instance::Copy::none);
}

Instance& Ledger::restore_instance(InstanceImage image, Instant now, Instance::Copy copy) {
    auto& instance = instances.restore(image.id, image.incarnation);
    instance.copy = copy;
    instance.revision = image.revision;
    if (image.row) {
        instances.restore_row(instance, *image.row);
    }
    instance.executions.reserve(image.executions.size());
    for (auto& stored : image.executions) {
        auto& execution = instance.execution(stored.id);
        execution.recorded = stored.recorded;
        execution.status = stored.status;
        execution.started_at = stored.started_at;
        execution.set_completed_at(stored.completed_at);
        execution.output =
            stored.output ? std::make_unique<std::string>(*std::move(stored.output)) : nullptr;
        execution.pinned = stored.pinned ? instances.intern(*stored.pinned) : nullptr;
        execution.history = std::move(stored.history);
        totals_.executions += stored.recorded ? 1 : 0;
        totals_.events += execution.history.size();
    }
    if (image.custom_status != CustomStatus{} || !image.kv.empty() || !image.kv_changes.empty()) {
        auto& extras = instance.extra();
        extras.custom_status = std::move(image.custom_status);
        extras.kv = std::move(image.kv);
        for (auto& [key, change] : image.kv_changes) {
            extras.kv_changes[key] = {.value = std::move(change.value),
                                      .last_updated_at_ms = change.last_updated_at_ms};
        }
    }
    if (image.parked) {
        instance.extra().parked = std::move(image.parked);
        parked_.insert(&instance);
    }
    instances.refresh_status(instance);
    restore_queues(instance, image, now);
    return instance;
}

void Ledger::restore_queues(Instance& instance, const InstanceImage& image, Instant now) {
    turns.hold(instance);
    if (image.hidden_until != Instant{}) {
        turns.hide(instance, image.hidden_until, image.hidden_at, image.hidden_seq);
    }
    for (const auto& stored : image.messages) {
        turns.add(instance, stored.message, now, stored.hidden_until);
        turns.find(stored.message.seq)->attempts = stored.attempts;
    }
    for (const auto& stored : image.work) {
        work.add(instance, stored.work, now, stored.attempts);
    }
    turns.file(instance);
    note_settled(instance);
}

void Ledger::set_aside(Instance& instance) {
    instances.count_archived(instance.current()->status, 1);
    const auto totals = totals_;
    discard(instance);
    totals_ = totals;
}

void Ledger::bring_back(InstanceImage image) {
    const auto totals = totals_;
    auto& instance = restore_instance(std::move(image), Instant{}, Instance::Copy::made);
    totals_ = totals;
    instances.count_archived(instance.current()->status, -1);
}

void Ledger::count_archived(ExecutionStatus status,
                            std::uint64_t executions,
                            std::uint64_t events) {
    instances.count_archived(status, 1);
    totals_.executions += executions;
    totals_.events += events;
}

Instance* Ledger::take_settled() {
    while (!settled_.empty()) {
        auto* instance = instances.find_here(settled_.front());
        settled_.pop_front();
        // It may have changed since it was noted, or have been taken already.
        if (instance != nullptr && instance->copy == Instance::Copy::none && settled(*instance)) {
            settled_bytes_ -= std::min(settled_bytes_, history_bytes(*instance));
            return instance;
        }
    }
    settled_bytes_ = 0;
    return nullptr;
}

} // namespace durable::ledger
