#include "providers/ledger/ledger.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace durable::ledger {

namespace {

constexpr std::size_t most_deleted_remembered = 1024;

std::string_view name_of(Queue queue) {
    return queue == Queue::orchestrator ? "orchestrator" : "worker";
}

void change_kv(Extras& extras, const KvChange& change, Instant at) {
    const auto tombstone =
        Extras::Change{.value = std::nullopt, .last_updated_at_ms = to_epoch_ms(at)};
    switch (change.kind) {
    case KvChange::Kind::set:
        extras.kv_changes[change.key] = {.value = change.value,
                                         .last_updated_at_ms = change.last_updated_at_ms};
        break;
    case KvChange::Kind::clear:
        extras.kv_changes[change.key] = tombstone;
        break;
    case KvChange::Kind::clear_all:
        for (auto& [key, value] : extras.kv_changes) {
            value = tombstone;
        }
        for (const auto& [key, value] : extras.kv) {
            extras.kv_changes[key] = tombstone;
        }
        break;
    }
}

// P9: what the execution changed becomes what later executions see.
void merge_kv(Extras& extras) {
    for (auto& [key, change] : extras.kv_changes) {
        if (change.value) {
            extras.kv[key] = {.value = std::move(*change.value),
                              .last_updated_at_ms = change.last_updated_at_ms};
        } else {
            extras.kv.erase(key);
        }
    }
    extras.kv_changes.clear();
}

} // namespace

Ledger::Ledger(Options options) : options_{options} {
    options_.unstarted_message_ttl = std::max(options_.unstarted_message_ttl, Duration::zero());
}

void Ledger::listen(Listener* listener) noexcept {
    listener_ = listener;
    turns.listen(listener);
    work.listen(listener);
}

void Ledger::advance(Moment now) {
    turns.advance(now);
    work.advance(now);
}

std::uint64_t Ledger::revision(const std::string& instance) const {
    if (const auto* found = instances.find(instance); found != nullptr && found->revision > 0) {
        return found->revision;
    }
    const auto gone = deleted_.find(instance);
    return gone == deleted_.end() ? 0 : gone->second;
}

// P2: cannot fail, and runs under the provider's mutex: no reader sees half of it.
void Ledger::apply(Record record) {
    at_ = record.at;
    std::visit([this](auto& operation) { run(operation); }, record.operation);
}

// ---- Queues

void Ledger::add(const NewMessage& message) {
    next_seq_ = std::max(next_seq_, message.seq + 1);
    turns.add(instances.get(message.instance), message, at_);
}

void Ledger::add(const NewWork& added) {
    next_seq_ = std::max(next_seq_, added.seq + 1);
    work.add(instances.get(added.activity.instance), added, at_);
}

void Ledger::run(op::EnqueueMessage& operation) {
    add(operation.message);
}

void Ledger::run(op::StartInstance& operation) {
    auto& instance = instances.get(operation.message.instance);
    turns.hold(instance);
    instance.created_at = at_;
    instance.updated_at = at_;
    instances.set_row(instance,
                      {.orchestration_name = std::move(operation.name),
                       .orchestration_version = std::move(operation.version),
                       .parent_instance_id = std::move(operation.parent)},
                      1);
    instances.refresh_status(instance);
    add(operation.message);
    changed(instance, false);
    turns.file(instance);
}

void Ledger::run(op::EnqueueWork& operation) {
    add(operation.work);
}

void Ledger::run(op::FetchTurn& operation) {
    if (auto* instance = instances.find(operation.instance); instance != nullptr) {
        turns.count_attempt(*instance, operation.messages); // P7
    }
}

void Ledger::run(op::FetchWork& operation) {
    if (auto* entry = work.find(operation.seq); entry != nullptr) {
        work.count_attempt(*entry); // P7
    }
}

void Ledger::run(op::AbandonTurn& operation) {
    for (const auto seq : operation.uncounted) {
        if (auto* message = turns.find(seq); message != nullptr && message->attempts > 0) {
            --message->attempts;
        }
    }
    auto* instance = instances.find(operation.instance);
    if (instance == nullptr) {
        return;
    }
    turns.hold(*instance);
    turns.release(*instance);
    if (operation.hidden_until) {
        turns.hide(*instance, *operation.hidden_until, at_, next_seq_);
    } else {
        turns.reveal(*instance);
    }
    if (operation.delayed_until) {
        turns.hide(*instance, operation.delayed, *operation.delayed_until, at_);
    }
    if (operation.parked && instance->exists()) {
        set_parked(*instance, *operation.parked);
    }
    turns.file(*instance);
    note_settled(*instance);
}

void Ledger::set_parked(Instance& instance, const std::string& reason) {
    auto& parked = instance.extra().parked;
    if (!parked || parked->reason != reason) {
        parked = Parked{.reason = reason, .since = at_};
        parked_.insert(&instance);
        changed(instance, false);
    }
}

void Ledger::clear_parked(Instance& instance) {
    if (parked_.erase(&instance) > 0) {
        instance.extras->parked.reset();
    }
}

void Ledger::announce_suspects() {
    if (std::exchange(suspects.freed, false) && suspects.held == 0) {
        turns.announce_suspects();
        work.announce_suspects();
    }
}

void Ledger::run(op::AbandonWork& operation) {
    auto* entry = work.find(operation.seq);
    if (entry == nullptr) {
        return;
    }
    if (operation.uncounted && entry->attempts > 0) {
        --entry->attempts;
    }
    work.put_back(*entry, operation.visible_at, at_);
}

void Ledger::run(op::FinishWork& operation) {
    if (operation.completion) {
        add(*operation.completion);
    }
    remove_work(operation.seq);
}

void Ledger::remove_work(Seq seq) {
    auto* entry = work.find(seq);
    if (entry == nullptr) {
        return;
    }
    auto& instance = *entry->instance;
    work.remove(*entry);
    note_settled(instance);
    drop_if_unused(instance);
}

void Ledger::note_settled(const Instance& instance) {
    if (options_.track_settled && instance.copy == Instance::Copy::none && settled(instance)) {
        settled_.emplace_back(instance.id());
        settled_bytes_ += history_bytes(instance);
    }
}

// ---- Turns

void Ledger::run(op::CommitTurn& commit) {
    auto& instance = instances.get(commit.instance);
    turns.hold(instance);
    turns.release(instance);
    turns.reveal(instance);
    turns.remove(instance, commit.consumed); // P4
    clear_parked(instance);

    if (commit.metadata.orchestration_name && commit.metadata.orchestration_version) {
        if (!instance.exists()) {
            instance.created_at = at_;
        }
        instances.set_row(instance, commit.metadata, commit.execution_id);
    }
    record_execution(instance, commit);
    if (commit.custom_status && instance.exists()) {
        auto& custom_status = instance.extra().custom_status;
        custom_status.status = commit.custom_status->status;
        ++custom_status.version;
    }
    for (const auto& change : commit.kv) {
        change_kv(instance.extra(), change, at_);
    }
    if (instance.extras &&
        commit.metadata.status.value_or(ExecutionStatus::running) != ExecutionStatus::running) {
        merge_kv(*instance.extras);
    }
    for (const auto& added : commit.work) {
        add(added);
    }
    for (const auto seq : commit.cancelled_work) {
        remove_work(seq);
    }
    for (const auto& message : commit.messages) {
        add(message);
    }
    turns.remove(instance, commit.cancelled_messages);

    instance.updated_at = at_;
    instances.refresh_status(instance);
    changed(instance, instance.ended());
    turns.file(instance);
    note_settled(instance);
}

void Ledger::record_execution(Instance& instance, const op::CommitTurn& commit) {
    auto& execution = instance.execution(commit.execution_id);
    if (!execution.recorded) {
        execution.recorded = true;
        execution.started_at = at_;
        ++totals_.executions;
    }
    if (commit.metadata.pinned_version) {
        execution.pinned = instances.intern(*commit.metadata.pinned_version);
    }
    if (instance.exists()) {
        instance.current_execution = std::max(instance.current_execution, commit.execution_id);
    }
    append(execution, commit.events);
    instance.started = Instance::Started::unknown;
    if (commit.metadata.status) {
        execution.status = *commit.metadata.status;
        execution.output = commit.metadata.output
                               ? std::make_unique<std::string>(*commit.metadata.output)
                               : nullptr;
        execution.set_completed_at(
            execution.status == ExecutionStatus::running ? std::nullopt : std::optional{at_});
    }
}

// P8: reads nothing; check_new() has refused ids that are stored.
void Ledger::append(Execution& execution, const std::vector<NewEvent>& events) {
    for (const auto& event : events) {
        execution.history.append(event.id, event.text);
    }
    totals_.events += events.size();
}

void Ledger::run(op::Append& operation) {
    if (operation.events.empty()) {
        return; // no events: must not create the instance
    }
    auto& instance = instances.get(operation.instance);
    turns.hold(instance);
    append(instance.execution(operation.execution_id), operation.events);
    instance.started = Instance::Started::unknown;
    instances.refresh_status(instance);
    turns.file(instance);
    note_settled(instance);
}

void Ledger::changed(Instance& instance, bool ended) {
    instance.revision = ++revision_;
    if (listener_ != nullptr) {
        listener_->instance_changed(instance.id(), ended);
    }
}

// ---- Removal

void Ledger::run(op::Delete& operation) {
    for (const auto& id : operation.instances) {
        if (auto* instance = instances.find(id); instance != nullptr) {
            changed(*instance, true);
            remember_deleted(id);
            discard(*instance);
        }
    }
    for (const auto seq : operation.starts) {
        remove_start(seq);
    }
    for (const auto& [start, attempts] : operation.kept) {
        auto& instance = instances.get(start.instance);
        turns.hold(instance);
        turns.add(instance, start, at_);
        turns.find(start.seq)->attempts = attempts;
        turns.file(instance);
    }
}

void Ledger::remove_start(Seq seq) {
    const auto* message = turns.find(seq);
    if (message == nullptr) {
        return;
    }
    auto& instance = *message->instance;
    const auto* lease = instance.inbox().lease;
    turns.hold(instance);
    if (lease != nullptr && std::ranges::find(lease->messages, seq) != lease->messages.end()) {
        turns.release(instance); // P3: a turn that was given this start can commit nothing
    }
    turns.remove(instance, {&seq, 1});
    turns.file(instance);
    note_settled(instance);
    drop_if_unused(instance);
}

void Ledger::discard(Instance& instance) {
    turns.hold(instance);
    turns.release(instance);
    turns.remove_all(instance);
    work.remove_all(instance);
    parked_.erase(&instance);
    for (const auto& execution : instance.executions) {
        totals_.executions -= execution.recorded ? 1 : 0;
        totals_.events -= execution.history.size();
    }
    instances.erase(instance);
}

void Ledger::remember_deleted(const std::string& id) {
    if (deleted_.insert_or_assign(id, revision_).second) {
        deleted_order_.push_back(id);
    }
    if (deleted_order_.size() > most_deleted_remembered) {
        deleted_.erase(deleted_order_.front());
        deleted_order_.pop_front();
    }
}

void Ledger::run(op::Prune& operation) {
    auto* instance = instances.find(operation.instance);
    if (instance == nullptr) {
        return;
    }
    const std::set<std::uint64_t> pruned{operation.executions.begin(), operation.executions.end()};
    turns.hold(*instance);
    std::erase_if(instance->executions, [&](const Execution& execution) {
        if (!pruned.contains(execution.id)) {
            return false;
        }
        totals_.executions -= execution.recorded ? 1 : 0;
        totals_.events -= execution.history.size();
        return true;
    });
    instances.refresh_status(*instance);
    turns.file(*instance);
    note_settled(*instance);
}

void Ledger::run(op::Expire& operation) {
    std::map<Instance*, std::vector<Seq>> removed; // the order has no effect
    for (const auto seq : operation.messages) {
        const auto* message = turns.find(seq);
        if (message == nullptr) {
            continue;
        }
        ++totals_.expired;
        expired_.push_back({.id = seq,
                            .queue = std::string{name_of(Queue::orchestrator)},
                            .instance = std::string{message->instance->id()},
                            .text = message->text(),
                            .reason = "expired: its instance did not start in time",
                            .quarantined_at = at_});
        removed[message->instance].push_back(seq);
    }
    while (expired_.size() > most_expired_kept) {
        expired_.pop_front();
    }
    for (auto& [instance, messages] : removed) {
        turns.remove(*instance, messages);
        turns.refile_after_removal(*instance);
        note_settled(*instance);
        drop_if_unused(*instance);
    }
}

void Ledger::run(op::Quarantine& operation) {
    QuarantinedItem item{.id = operation.seq,
                         .queue = std::string{name_of(operation.queue)},
                         .reason = operation.reason,
                         .quarantined_at = at_};
    if (operation.queue == Queue::worker) {
        const auto* entry = work.find(operation.seq);
        if (entry == nullptr) {
            return;
        }
        item.instance = entry->instance->id();
        item.text = entry->text.view();
        remove_work(operation.seq);
    } else {
        const auto* message = turns.find(operation.seq);
        if (message == nullptr) {
            return;
        }
        auto& instance = *message->instance;
        item.instance = instance.id();
        item.text = message->text();
        turns.remove(instance, {&operation.seq, 1});
        turns.refile_after_removal(instance);
        note_settled(instance);
        drop_if_unused(instance);
    }
    ++totals_.quarantined;
    quarantine_.push_back(std::move(item));
}

void Ledger::run(op::QuarantineText& operation) {
    next_seq_ = std::max(next_seq_, operation.seq + 1);
    ++totals_.quarantined;
    quarantine_.push_back({.id = operation.seq,
                           .queue = std::string{name_of(operation.queue)},
                           .instance = std::move(operation.instance),
                           .text = std::move(operation.text),
                           .reason = std::move(operation.reason),
                           .quarantined_at = at_});
}

// An id without row and history is forgotten with its last message or activity. Only what records
// say may decide this, no lease and no expired hiding: a replayed journal must give every later
// instance of the id the same incarnation.
void Ledger::drop_if_unused(Instance& instance) {
    if (!instance.exists() && instance.executions.empty() && instance.messages == nullptr &&
        instance.inbox().work == nullptr && !instance.extras) {
        turns.hold(instance);
        turns.release(instance);
        instances.erase(instance);
    }
}

} // namespace durable::ledger
