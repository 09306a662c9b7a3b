#include "naive_provider.hpp"

#include "base/try.hpp"
#include "naive_admin.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace durable::testing {

namespace naive {
namespace {

// Text is what a message may carry.
bool is_text(const std::string& text) {
    return encode(WorkItem{work::ExternalRaised{.name = "text", .data = text}}).has_value();
}

class NaiveProvider final : public Provider, public NaiveAdmin {
 public:
    explicit NaiveProvider(std::shared_ptr<Clock> clock) : NaiveAdmin{std::move(clock)} {}

    std::string name() const override { return "naive"; }
    std::string version() const override { return "0.1.0"; }
    Durability durability() const noexcept override { return Durability::none; }
    ProviderAdmin* as_management_capability() noexcept override { return this; }

    // ---- turns

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        const std::scoped_lock lock{mutex_};
        if (request.filter && request.filter->supported.empty()) {
            return std::nullopt;
        }
        for (const auto& message : messages_) {
            const auto& id = target_instance(message.item);
            if (deliverable(id, message) && ready(id) && allowed(id, request)) {
                return lease(id, request);
            }
        }
        return std::nullopt;
    }

    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        const std::scoped_lock lock{mutex_};
        constexpr auto* op = "ack_orchestration_item";
        const auto id = owner_of(commit.lock_token);
        if (!id || leases_.at(*id).until <= steady()) {
            return fail(ErrorCode::lock_lost, "no live lease", op);
        }
        const Key key{*id, commit.execution_id};
        DURABLE_TRY(check_events(key, commit.history_delta, op));
        if (commit.metadata.status == ExecutionStatus::pending) {
            return fail(ErrorCode::invalid_argument, "no commit makes an instance pending", op);
        }
        for (const auto& item : commit.worker_items) {
            if (!std::holds_alternative<work::ActivityExecute>(item)) {
                return fail(ErrorCode::invalid_argument, "not an activity", op);
            }
        }
        for (const auto& item : commit.orchestrator_items) {
            if (std::holds_alternative<work::ActivityExecute>(item)) {
                return fail(ErrorCode::invalid_argument, "an activity", op);
            }
        }
        std::erase_if(messages_, [&](const Message& m) { return m.token == commit.lock_token; });
        apply_metadata(key, commit.metadata);
        apply_events(key, commit.history_delta);
        apply_kv(key, commit);
        for (const auto& item : commit.worker_items) {
            works_.push_back(
                {.seq = ++seq_, .item = std::get<work::ActivityExecute>(item), .visible = now()});
        }
        std::erase_if(works_, [&](const Work& w) {
            return std::ranges::count(commit.cancelled_activities,
                                      ActivityId{w.item.instance, w.item.execution_id, w.item.id}) >
                   0;
        });
        for (const auto& item : commit.orchestrator_items) {
            push(item, now());
        }
        std::erase_if(messages_, [&](const Message& m) {
            const auto* timer = std::get_if<work::TimerFired>(&m.item);
            return timer != nullptr && timer->instance == *id &&
                   timer->execution_id == commit.execution_id &&
                   std::ranges::count(commit.cancelled_timers, timer->id) > 0;
        });
        leases_.erase(*id);
        return {};
    }

    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        const std::scoped_lock lock{mutex_};
        constexpr auto* op = "abandon_orchestration_item";
        const auto id = owner_of(abandon.lock_token);
        if (!id) {
            return fail(ErrorCode::lock_lost, "no lease", op);
        }
        if (abandon.parked && !is_text(*abandon.parked)) {
            return fail(ErrorCode::invalid_argument, "the reason is not UTF-8", op);
        }
        const auto delay = abandon.delay.value_or(Duration::zero());
        const bool hides = delay > Duration::zero();
        const bool cancelled_meanwhile = std::ranges::any_of(messages_, [&](const Message& each) {
            return deliverable(*id, each) && each.token != abandon.lock_token &&
                   std::holds_alternative<work::CancelInstance>(each.item);
        });
        for (auto& message : messages_) {
            if (message.token == abandon.lock_token) {
                message.token.clear();
                message.attempts -= abandon.ignore_attempt && message.attempts > 0 ? 1U : 0U;
                message.hidden = hides && !abandon.whole_instance ? now() + delay : message.hidden;
            }
        }
        if (hides && abandon.whole_instance && !cancelled_meanwhile) {
            hidden_[*id] = {.since = now(), .until = now() + delay, .last_seq = seq_};
        }
        const auto row = rows_.find(*id);
        if (abandon.parked && row != rows_.end() &&
            (!row->second.parked || row->second.parked->reason != *abandon.parked)) {
            row->second.parked = Parked{.reason = *abandon.parked, .since = now()};
        }
        leases_.erase(*id);
        return {};
    }

    Result<> renew_orchestration_item_lock(const std::string& token, Duration by) override {
        const std::scoped_lock lock{mutex_};
        const auto id = owner_of(token);
        if (!id || leases_.at(*id).until <= steady()) {
            return fail(ErrorCode::lock_lost, "no live lease", "renew_orchestration_item_lock");
        }
        leases_.at(*id).until = steady() + by;
        return {};
    }

    // ---- histories

    Result<std::vector<HistoryEvent>> read(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        return events_of({id, latest(id)});
    }
    Result<std::vector<HistoryEvent>> read_with_execution(const std::string& id,
                                                          std::uint64_t execution) override {
        const std::scoped_lock lock{mutex_};
        return events_of({id, execution});
    }
    Result<> append_with_execution(const std::string& id,
                                   std::uint64_t execution,
                                   const std::vector<HistoryEvent>& events) override {
        const std::scoped_lock lock{mutex_};
        DURABLE_TRY(check_events({id, execution}, events, "append_with_execution"));
        apply_events({id, execution}, events);
        return {};
    }

    // ---- activities

    Result<> enqueue_for_worker(const WorkItem& item) override {
        const std::scoped_lock lock{mutex_};
        if (!std::holds_alternative<work::ActivityExecute>(item)) {
            return fail(ErrorCode::invalid_argument, "not an activity", "enqueue_for_worker");
        }
        works_.push_back(
            {.seq = ++seq_, .item = std::get<work::ActivityExecute>(item), .visible = now()});
        return {};
    }

    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        const std::scoped_lock lock{mutex_};
        for (auto& work : works_) {
            const bool free = work.token.empty() || work.until <= steady();
            const bool suspect = work.attempts >= suspect_after;
            if (work.visible > now() || !free ||
                (request.code != nullptr && !request.code->contains(work.item.name)) ||
                (request.one_suspect && suspect && suspect_under_way()) ||
                !request.tags.matches(work.item.tag) ||
                !session_open(work.item.session_id, request.session)) {
                continue;
            }
            work.token = "work " + std::to_string(++tokens_);
            work.until = steady() + request.lock_timeout;
            work.lone_suspect = request.one_suspect && suspect;
            ++work.attempts;
            if (work.item.session_id) {
                sessions_[*work.item.session_id] = {.owner = request.session->owner_id,
                                                    .until =
                                                        steady() + request.session->lock_timeout,
                                                    .active = steady()};
            }
            return WorkLease{
                .item = work.item, .lock_token = work.token, .attempt_count = work.attempts};
        }
        return std::nullopt;
    }

    Result<> ack_work_item(const std::string& token,
                           const std::optional<WorkItem>& completion) override {
        const std::scoped_lock lock{mutex_};
        DURABLE_TRY_ASSIGN(auto* work, live_work(token, "ack_work_item"));
        if (completion && !std::holds_alternative<work::ActivityCompleted>(*completion) &&
            !std::holds_alternative<work::ActivityFailed>(*completion)) {
            return fail(ErrorCode::invalid_argument, "not a completion", "ack_work_item");
        }
        touch(work->item.session_id);
        std::erase_if(works_, [&](const Work& each) { return each.token == token; });
        if (completion) {
            push(*completion, now());
        }
        return {};
    }

    Result<> renew_work_item_lock(const std::string& token, Duration by) override {
        const std::scoped_lock lock{mutex_};
        DURABLE_TRY_ASSIGN(auto* work, live_work(token, "renew_work_item_lock"));
        work->until = steady() + by;
        touch(work->item.session_id);
        return {};
    }

    Result<> abandon_work_item(const std::string& token,
                               std::optional<Duration> delay,
                               bool ignore_attempt) override {
        const std::scoped_lock lock{mutex_};
        const auto work = std::ranges::find(works_, token, &Work::token);
        if (work == works_.end()) {
            return fail(ErrorCode::lock_lost, "no lease", "abandon_work_item");
        }
        work->token.clear();
        work->visible = now() + delay.value_or(Duration::zero());
        work->attempts -= ignore_attempt && work->attempts > 0 ? 1U : 0U;
        return {};
    }

    Result<std::uint64_t> renew_session_lock(const std::vector<std::string>& owners,
                                             Duration by,
                                             Duration idle) override {
        const std::scoped_lock lock{mutex_};
        std::uint64_t renewed = 0;
        for (auto& [id, session] : sessions_) {
            if (std::ranges::count(owners, session.owner) > 0 && session.until > steady() &&
                session.active > steady() - idle) {
                session.until = steady() + by;
                ++renewed;
            }
        }
        return renewed;
    }

    Result<std::uint64_t> cleanup_orphaned_sessions(Duration /*idle*/) override {
        const std::scoped_lock lock{mutex_};
        return std::erase_if(sessions_, [&](const auto& entry) {
            return entry.second.until < steady() &&
                   std::ranges::none_of(
                       works_, [&](const Work& w) { return w.item.session_id == entry.first; });
        });
    }

    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override {
        const std::scoped_lock lock{mutex_};
        constexpr auto* op = "start_instance";
        if (!encode(WorkItem{start})) {
            return fail(ErrorCode::invalid_argument, "not UTF-8", op);
        }
        const bool queued = std::ranges::any_of(messages_, [&](const Message& message) {
            const auto* other = std::get_if<work::StartOrchestration>(&message.item);
            return other != nullptr && other->instance == start.instance;
        });
        if (queued || rows_.contains(start.instance)) {
            return fail(ErrorCode::already_exists, "it is there", op);
        }
        rows_[start.instance] = {.name = start.orchestration,
                                 .version = start.version.value_or("unknown"),
                                 .parent = start.parent_instance,
                                 .created = now(),
                                 .updated = now(),
                                 .number = ++rows_made_};
        push(start, now() + delay.value_or(Duration::zero()));
        return {};
    }

    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        const std::scoped_lock lock{mutex_};
        if (std::holds_alternative<work::ActivityExecute>(item)) {
            return fail(ErrorCode::invalid_argument, "an activity", "enqueue_for_orchestrator");
        }
        push(item, now() + delay.value_or(Duration::zero()));
        return {};
    }

    // ---- reading

    Result<std::optional<CustomStatus>> get_custom_status(const std::string& id,
                                                          std::uint64_t seen) override {
        const std::scoped_lock lock{mutex_};
        const auto row = rows_.find(id);
        return row != rows_.end() && row->second.status.version > seen
                   ? std::optional{row->second.status}
                   : std::nullopt;
    }
    Result<std::optional<std::string>> get_kv_value(const std::string& id,
                                                    const std::string& key) override {
        const std::scoped_lock lock{mutex_};
        const auto all = merged(id);
        const auto found = all.find(key);
        return found != all.end() ? std::optional{found->second} : std::nullopt;
    }
    Result<std::map<std::string, std::string>> get_kv_all_values(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        return merged(id);
    }
    Result<std::optional<InstanceStats>> get_instance_stats(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        if (!rows_.contains(id)) {
            return std::nullopt;
        }
        InstanceStats stats;
        for (const auto& event : events_of({id, rows_.at(id).execution})) {
            ++stats.history_event_count;
            stats.history_size_bytes += encode(event).value().size();
            const auto* started = std::get_if<history::OrchestrationStarted>(&event.kind);
            if (event.event_id == 1 && started != nullptr) {
                stats.queue_pending_count = history::carried_messages(*started);
            }
        }
        for (const auto& [key, value] : merged(id)) {
            ++stats.kv_user_key_count;
            stats.kv_total_value_bytes += value.size();
        }
        return stats;
    }
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        const std::scoped_lock lock{mutex_};
        const auto row = rows_.find(request.instance);
        if (row == rows_.end()) {
            return InstanceState{};
        }
        const auto* execution = current(row->first);
        return InstanceState{.exists = true,
                             .orchestration_name = row->second.name,
                             .orchestration_version = row->second.version,
                             .execution_id = row->second.execution,
                             .status = execution != nullptr  ? execution->status
                                       : pending(row->first) ? ExecutionStatus::pending
                                                             : ExecutionStatus::running,
                             .output = execution != nullptr ? execution->output : std::nullopt,
                             .custom_status = row->second.status,
                             .parked = row->second.parked};
    }
};

} // namespace
} // namespace naive

std::shared_ptr<Provider> naive_provider(std::shared_ptr<Clock> clock) {
    return std::make_shared<naive::NaiveProvider>(std::move(clock));
}

} // namespace durable::testing
