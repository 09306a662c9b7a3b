#include "providers/ledger/work_queue.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <memory>
#include <ranges>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace durable::ledger {

namespace {

bool serves(const durable::FetchWork& request, const WorkShelf& shelf, const SuspectHold& hold) {
    if (request.one_suspect && shelf.suspect && hold.held > 0) { // P16
        return false;
    }
    return request.tags.matches(shelf.tag) && // P14
           (request.code == nullptr || shelf.name.empty() || request.code->contains(shelf.name));
}

} // namespace

bool serves(const durable::FetchWork& request, const WorkGroup& group, const SuspectHold& hold) {
    if (!serves(request, *group.shelf, hold)) {
        return false;
    }
    if (group.session == nullptr) {
        return true;
    }
    if (!request.session) {
        return false;
    }
    return group.session->live() ? group.session->owner == request.session->owner_id
                                 : request.session->claim_new;
}

WorkQueue::~WorkQueue() {
    activities_.dispose([](const WorkEntry&) {});
    entries_.dispose([](WorkEntry& entry) { std::unique_ptr<WorkEntry>{&entry}.reset(); });
}

std::size_t WorkQueue::hash_of(const WorkEntry& entry) noexcept {
    return mixed_hash(entry.seq);
}

std::size_t WorkQueue::activity_hash_of(const WorkEntry& entry) noexcept {
    return mixed_hash(entry.instance, entry.execution_id, entry.activity_id);
}

// ---- Items

void WorkQueue::add(Instance& instance, const NewWork& added, Instant at, std::uint32_t attempts) {
    auto made = std::make_unique<WorkEntry>();
    made->seq = added.seq;
    entries_.insert(*made);
    auto& entry = *made.release();
    entry.instance = &instance;
    entry.execution_id = added.activity.execution_id;
    entry.activity_id = added.activity.activity_id;
    entry.text = PackedText{added.text};
    entry.attempts = attempts;

    auto& inbox = instance.open_inbox();
    entry.next = inbox.work;
    if (inbox.work != nullptr) {
        inbox.work->previous = &entry;
    }
    inbox.work = &entry;
    activities_.insert(entry);

    join(entry, {added.tag, added.name, entry.suspect()}, added.session);
    put_back(entry, added.visible_at, at);
}

void WorkQueue::put_back(WorkEntry& entry, Instant visible_at, Instant at) {
    withdraw(entry);
    release(entry);
    entry.visible_at = visible_at;
    if (visible_at > at) {
        entry.place = WorkEntry::Place::delayed;
        delayed_.push(entry, key_of(visible_at));
    } else {
        make_ready(entry);
    }
}

void WorkQueue::make_ready(WorkEntry& entry) {
    entry.place = WorkEntry::Place::ready;
    regroup(entry);
    auto& group = *entry.group;
    group.ready.push(entry, key_of(entry.seq));
    shelve(group);
    announce(group, 1);
}

void WorkQueue::withdraw(WorkEntry& entry) {
    if (entry.slot == no_slot) {
        return; // leased, or just made
    }
    if (entry.place == WorkEntry::Place::delayed) {
        delayed_.erase(entry);
        return;
    }
    auto& group = *entry.group;
    group.ready.erase(entry);
    shelve(group);
}

void WorkQueue::remove(WorkEntry& entry) {
    withdraw(entry);
    release(entry);
    (entry.previous != nullptr ? entry.previous->next : entry.instance->open_inbox().work) =
        entry.next;
    if (entry.next != nullptr) {
        entry.next->previous = entry.previous;
    }
    entry.instance->close_inbox();
    activities_.erase(entry);

    part(*entry.group);
    entries_.erase(entry);
    std::unique_ptr<WorkEntry>{&entry}.reset();
}

void WorkQueue::remove_all(Instance& instance) {
    while (instance.inbox().work != nullptr) {
        remove(*instance.inbox().work);
    }
}

WorkEntry* WorkQueue::find(Seq seq) {
    return entries_.find(mixed_hash(seq), [&](const WorkEntry& entry) { return entry.seq == seq; });
}

std::vector<Seq> WorkQueue::find(const Instance& instance,
                                 std::uint64_t execution_id,
                                 std::uint64_t activity_id) const {
    std::vector<Seq> found;
    const auto hash = mixed_hash(&instance, execution_id, activity_id);
    activities_.for_each_near(hash, [&](const WorkEntry& entry) {
        if (entry.instance == &instance && entry.execution_id == execution_id &&
            entry.activity_id == activity_id) {
            found.push_back(entry.seq);
        }
    });
    std::ranges::sort(found);
    return found;
}

// ---- Groups

void WorkQueue::join(WorkEntry& entry, ShelfKey key, const std::optional<std::string>& session) {
    entry.group = &group(std::move(key), session);
    ++entry.group->items;
    if (entry.group->session != nullptr) {
        ++entry.group->session->items;
    }
}

void WorkQueue::part(WorkGroup& group) {
    DURABLE_CHECK(group.items > 0, "a group counts its items");
    if (group.session != nullptr) {
        --group.session->items;
    }
    if (--group.items == 0) {
        drop_group(group);
    }
}

void WorkQueue::regroup(WorkEntry& entry) {
    auto& left = *entry.group;
    const auto& shelf = *left.shelf;
    if (shelf.suspect == entry.suspect()) {
        return;
    }
    const auto session = left.session != nullptr ? std::optional{left.session->id} : std::nullopt;
    join(entry, {shelf.tag, shelf.name, entry.suspect()}, session); // first: the session stays
    part(left);
}

void WorkQueue::count_attempt(WorkEntry& entry) {
    ++entry.attempts;
    // A replayed journal leases nothing: the item stays ready, in the group of suspects.
    if (entry.place == WorkEntry::Place::ready && entry.slot != no_slot &&
        entry.group->shelf->suspect != entry.suspect()) {
        withdraw(entry);
        make_ready(entry);
    }
}

WorkGroup& WorkQueue::group(ShelfKey key, const std::optional<std::string>& session_id) {
    auto& shelf = shelves_[key];
    std::tie(shelf.tag, shelf.name, shelf.suspect) = std::move(key);
    auto* owner = session_id ? &session(*session_id) : nullptr;
    auto& group = groups_[{&shelf, owner}];
    if (group.shelf == nullptr) {
        group.shelf = &shelf;
        group.session = owner;
        ++shelf.groups;
        if (owner != nullptr) {
            owner->groups.push_back(&group);
        }
    }
    return group;
}

void WorkQueue::drop_group(WorkGroup& group) {
    auto& shelf = *group.shelf;
    auto* owner = group.session;
    if (owner != nullptr) {
        std::erase(owner->groups, &group);
    }
    groups_.erase({&shelf, owner}); // nothing ready any more, so it stands on no shelf
    if (owner != nullptr) {
        drop_session(*owner);
    }
    if (--shelf.groups == 0) {
        shelves_.erase({shelf.tag, shelf.name, shelf.suspect});
    }
}

WorkShelf::Groups& WorkQueue::place_of(WorkGroup& group) {
    auto& shelf = *group.shelf;
    if (group.session == nullptr) {
        return shelf.open;
    }
    return group.session->live() ? shelf.owned[group.session->owner] : shelf.unclaimed;
}

void WorkQueue::shelve(WorkGroup& group) {
    if (group.ready.empty()) {
        unshelve(group);
    } else if (group.slot == no_slot) {
        place_of(group).push(group, group.ready.top_key());
    } else {
        place_of(group).change_key(group, group.ready.top_key());
    }
}

void WorkQueue::unshelve(WorkGroup& group) {
    if (group.slot == no_slot) {
        return;
    }
    auto& groups = place_of(group);
    groups.erase(group);
    if (groups.empty() && group.session != nullptr && group.session->live()) {
        group.shelf->owned.erase(group.session->owner);
    }
}

// ---- Time

void WorkQueue::advance(Moment now) {
    while (!delayed_.empty() && delayed_.top_key() <= key_of(now.wall)) {
        auto& entry = delayed_.top();
        delayed_.erase(entry);
        make_ready(entry);
    }
    while (!lease_ends_.empty() && lease_ends_.top_key() <= key_of(now.steady)) {
        auto& ended = lease_ends_.top();
        drop(ended);
        make_ready(*ended.entry); // P3: the lease stays known until another fetch takes over
    }
    while (!session_ends_.empty() && session_ends_.top_key() <= key_of(now.steady)) {
        auto& ended = session_ends_.top();
        std::ranges::for_each(ended.groups, [](WorkGroup* group) { unshelve(*group); });
        session_ends_.erase(ended);
        for (auto* group : ended.groups) {
            shelve(*group);
            announce(*group, group->ready.size());
        }
    }
}

std::optional<Duration> WorkQueue::until_next(Moment now) const {
    return until_next(now, !session_ends_.empty());
}

std::optional<Duration> WorkQueue::until_next_item(Moment now) const {
    return until_next(now, !session_ends_.empty() && depth() > 0);
}

std::optional<Duration> WorkQueue::until_next(Moment now, bool sessions) const {
    Soonest soonest;
    if (!delayed_.empty()) {
        soonest.consider(delayed_.top_key(), key_of(now.wall));
    }
    if (!lease_ends_.empty()) {
        soonest.consider(lease_ends_.top_key(), key_of(now.steady));
    }
    if (sessions) {
        soonest.consider(session_ends_.top_key(), key_of(now.steady));
    }
    return soonest.wait();
}

void WorkQueue::announce(const WorkGroup& group, std::size_t items) const {
    if (listener_ != nullptr && items > 0) {
        listener_->work_ready(group, items);
    }
}

void WorkQueue::announce_suspects() const {
    for (const auto& [key, group] : groups_) {
        if (group.shelf->suspect) {
            announce(group, group.ready.size());
        }
    }
}

WorkEntry* WorkQueue::first_ready(const durable::FetchWork& request) {
    const WorkGroup* best = nullptr;
    const auto consider = [&](const WorkShelf::Groups& groups) {
        if (!groups.empty() && (best == nullptr || groups.top_key() < best->ready.top_key())) {
            best = &groups.top();
        }
    };
    for (const auto& [key, shelf] : shelves_) {
        if (!serves(request, shelf, suspects_)) {
            continue;
        }
        consider(shelf.open);
        if (!request.session) {
            continue;
        }
        if (request.session->claim_new) {
            consider(shelf.unclaimed);
        }
        if (const auto owned = shelf.owned.find(request.session->owner_id);
            owned != shelf.owned.end()) {
            consider(owned->second);
        }
    }
    return best == nullptr ? nullptr : &best->ready.top();
}

// ---- Leases

void WorkQueue::lease(WorkEntry& entry, const Token& token, SteadyInstant until, bool suspect) {
    withdraw(entry);
    release(entry);
    auto& held = leases_[token];
    held = {.token = token, .entry = &entry, .until = until, .suspect = suspect};
    if (suspect) {
        suspects_.take();
    }
    entry.lease = &held;
    entry.place = WorkEntry::Place::leased;
    lease_ends_.push(held, key_of(until));
}

void WorkQueue::release(WorkEntry& entry) {
    if (entry.lease == nullptr) {
        return;
    }
    if (entry.lease->slot != no_slot) {
        drop(*entry.lease);
    }
    const auto token = entry.lease->token; // a copy: erasing destroys the original
    entry.lease = nullptr;
    leases_.erase(token);
}

void WorkQueue::drop(WorkLease& lease) {
    lease_ends_.erase(lease);
    if (lease.suspect) {
        suspects_.give_back();
    }
}

void WorkQueue::extend(WorkLease& held, SteadyInstant until) {
    held.until = until;
    lease_ends_.change_key(held, key_of(until));
}

WorkLease* WorkQueue::find_lease(const Token& token) {
    const auto found = leases_.find(token);
    return found == leases_.end() ? nullptr : &found->second;
}

// ---- Sessions

Session& WorkQueue::session(const std::string& id) {
    auto& found = sessions_[id];
    found.id = id;
    return found;
}

void WorkQueue::drop_session(Session& session) {
    if (!session.claimed && session.groups.empty()) {
        const auto id = session.id; // a copy: erasing destroys the original
        sessions_.erase(id);
    }
}

void WorkQueue::claim(Session& session,
                      const std::string& owner,
                      SteadyInstant until,
                      SteadyInstant now) {
    session.claimed = true;
    session.last_activity = now;
    session.until = until;
    if (session.live() && session.owner == owner) {
        session_ends_.change_key(session, key_of(until));
        return;
    }
    std::ranges::for_each(session.groups, [](WorkGroup* group) { unshelve(*group); });
    if (session.live()) {
        session_ends_.erase(session);
    }
    session.owner = owner;
    session_ends_.push(session, key_of(until));
    for (auto* group : session.groups) {
        shelve(*group);
        // P11: a waiter that was called for these items may no longer take them. Other fetches of
        // the owner may: call those.
        announce(*group, group->ready.size());
    }
}

void WorkQueue::touch(WorkEntry& entry, SteadyInstant now) {
    if (entry.group->session != nullptr && entry.group->session->live()) {
        entry.group->session->last_activity = now;
    }
}

std::uint64_t WorkQueue::renew_sessions(const std::vector<std::string>& owners,
                                        SteadyInstant until,
                                        SteadyInstant active_after) {
    const std::unordered_set<std::string_view> wanted{owners.begin(), owners.end()};
    std::uint64_t renewed = 0;
    for (auto& [id, session] : sessions_) {
        if (session.live() && session.last_activity > active_after &&
            wanted.contains(session.owner)) {
            session.until = until;
            session_ends_.change_key(session, key_of(until));
            ++renewed;
        }
    }
    return renewed;
}

std::uint64_t WorkQueue::forget_sessions(SteadyInstant now) {
    return std::erase_if(sessions_, [&](const auto& named) {
        const auto& session = named.second;
        return session.claimed && !session.live() && session.until < now && session.items == 0;
    });
}

} // namespace durable::ledger
