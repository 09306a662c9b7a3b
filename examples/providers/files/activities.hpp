// Activities: leases on items of the worker queue, and the sessions that route them.

#pragma once

#include "commits.hpp"

namespace files_store {

class Activities : public Commits {
 public:
    using Commits::Commits;

    Result<> enqueue_for_worker(const WorkItem& item) override {
        return change("enqueue_for_worker",
                      [&] { directory_.change({records_.enqueue(worker_queue, item, now())}); });
    }

    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        return poll("fetch_work_item", request.poll_timeout, request.stop, [&] {
            return next_work(request);
        });
    }

    // One change removes the item and queues its completion.
    Result<> ack_work_item(const std::string& token,
                           const std::optional<WorkItem>& completion) override {
        return change("ack_work_item", [&] {
            const auto lease = lease_of(token, true);
            Change change{removal(lease->first)};
            if (completion) {
                if (!std::holds_alternative<work::ActivityCompleted>(*completion) &&
                    !std::holds_alternative<work::ActivityFailed>(*completion)) {
                    refuse(ErrorCode::invalid_argument,
                           "an activity does not end with " + std::string{type_name(*completion)});
                }
                change.push_back(queue_message(*completion, now()));
            }
            touch_session(lease->first);
            directory_.change(change);
            works_.erase(lease);
        });
    }

    Result<> renew_work_item_lock(const std::string& token, Duration by) override {
        return change("renew_work_item_lock", [&] {
            const auto lease = lease_of(token, true);
            lease->second.until = lease_end(by);
            touch_session(lease->first);
        });
    }

    Result<> abandon_work_item(const std::string& token,
                               std::optional<Duration> delay,
                               bool ignore_attempt) override {
        return change("abandon_work_item", [&] {
            const auto lease = lease_of(token, false);
            if (auto item = item_of(lease->first)) {
                item->about.attempts -= ignore_attempt && item->about.attempts > 0 ? 1U : 0U;
                item->about.arrived_at_ms = after(delay);
                item->about.delayed = item->about.arrived_at_ms > now();
                directory_.change({Records::store(*item)});
            }
            works_.erase(lease);
        });
    }

    Result<std::uint64_t> renew_session_lock(const std::vector<std::string>& owners,
                                             Duration by,
                                             Duration idle) override {
        return change("renew_session_lock", [&] {
            const auto since = add_saturating(steady(), -std::max(idle, Duration::zero()));
            std::uint64_t renewed = 0;
            for (auto& [id, session] : sessions_) {
                if (contains(owners, session.owner) && session.until > steady() &&
                    session.active > since) {
                    session.until = lease_end(by);
                    ++renewed;
                }
            }
            return renewed;
        });
    }

    Result<std::uint64_t> cleanup_orphaned_sessions(Duration /*idle*/) override {
        return change("cleanup_orphaned_sessions", [&]() -> std::uint64_t {
            const auto items = records_.items(worker_queue, now());
            return std::erase_if(sessions_, [&](const auto& entry) {
                return entry.second.until < steady() &&
                       std::ranges::none_of(
                           items,
                           [&](const Queued& item) {
                               return job_of(item).session_id == entry.first;
                           });
            });
        });
    }

 private:
    [[nodiscard]] static const work::ActivityExecute& job_of(const Queued& item) {
        return std::get<work::ActivityExecute>(item.item);
    }
    [[nodiscard]] std::optional<Queued> item_of(const std::string& file) {
        return records_.item(worker_queue, file.substr(file.rfind('/') + 1), now());
    }
    [[nodiscard]] std::map<std::string, Lease>::iterator lease_of(const std::string& token,
                                                                  bool alive) { // P3
        const auto lease =
            std::ranges::find_if(works_, [&](const auto& e) { return e.second.token == token; });
        if (lease == works_.end() || (alive && !live(lease->second))) {
            refuse(ErrorCode::lock_lost,
                   lease == works_.end() ? "Invalid lock token" : "the lease has expired");
        }
        return lease;
    }

    [[nodiscard]] std::optional<WorkLease> next_work(const FetchWork& request) {
        for (const auto& name : records_.queue(worker_queue)) { // P5: files sort by their numbers
            const auto leased = works_.find(std::string{"queues/"} + worker_queue + "/" + name);
            if (leased == works_.end() || !live(leased->second)) {
                auto item = records_.item(worker_queue, name, now());
                if (item && item->deliverable(now()) && allowed(*item, request)) {
                    return lease(*item, request);
                }
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool allowed(const Queued& item, const FetchWork& request) const {
        const auto& job = job_of(item);
        return request.tags.matches(job.tag) &&
               (request.code == nullptr || request.code->contains(job.name)) &&
               !(request.one_suspect && item.suspect() && suspect_under_way()) &&
               (!job.session_id || session_open(*job.session_id, request.session));
    }
    [[nodiscard]] bool session_open(const std::string& id,
                                    const std::optional<SessionClaim>& claim) const {
        const auto session = sessions_.find(id);
        const bool owned = session != sessions_.end() && session->second.until > steady();
        return claim && (owned ? session->second.owner == claim->owner_id : claim->claim_new);
    }
    [[nodiscard]] WorkLease lease(Queued& item, const FetchWork& request) {
        const bool suspect = request.one_suspect && item.suspect();
        ++item.about.attempts; // P7: before the work runs
        directory_.change({Records::store(item)});
        const auto& job = job_of(item);
        works_[item.file] = {.token = new_token(),
                             .until = lease_end(request.lock_timeout),
                             .lone_suspect = suspect,
                             .files = {item.file}};
        if (job.session_id) {
            sessions_[*job.session_id] = {.owner = request.session->owner_id,
                                          .until = lease_end(request.session->lock_timeout),
                                          .active = steady()};
        }
        return {.item = job,
                .lock_token = works_[item.file].token,
                .attempt_count = item.about.attempts};
    }
    void touch_session(const std::string& file) {
        const auto item = item_of(file);
        const auto session = item && job_of(*item).session_id
                                 ? sessions_.find(*job_of(*item).session_id)
                                 : sessions_.end();
        if (session != sessions_.end() && session->second.until > steady()) {
            session->second.active = steady();
        }
    }
};

} // namespace files_store
