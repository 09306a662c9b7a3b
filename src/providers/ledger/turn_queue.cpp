#include "providers/ledger/turn_queue.hpp"

#include "base/check.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace durable::ledger {

namespace {

bool is_timer(std::uint8_t kind) {
    return kind == item_kind<work::TimerFired>;
}

// May this message, when it becomes visible, change the class of an instance that is ready?
bool changes_class(const Message& message) {
    return starts_instance(message.kind) || message.cancels() || message.suspect();
}

} // namespace

TurnQueue::~TurnQueue() {
    timers_.dispose([](const Message&) {});
    messages_.dispose([](Message& message) { std::unique_ptr<Message>{&message}.reset(); });
}

std::size_t TurnQueue::hash_of(const Message& message) noexcept {
    return mixed_hash(message.seq);
}

std::size_t TurnQueue::timer_hash_of(const Message& message) noexcept {
    return mixed_hash(message.instance, message.execution_id, message.timer_id);
}

// ---- Messages

void TurnQueue::add(Instance& instance, const NewMessage& added, Instant at, Instant hidden_until) {
    auto made = std::make_unique<Message>();
    made->seq = added.seq;
    messages_.insert(*made);
    auto& message = *made.release();
    message.instance = &instance;
    message.visible_at = added.visible_at;
    message.hidden_until = hidden_until;
    message.kind = added.kind;
    message.execution_id = added.execution_id;
    message.timer_id = added.timer_id;
    message.keep(added.text);

    // Sequence numbers ascend, so the end of the list is the right place.
    if (auto* first = instance.messages; first != nullptr) {
        DURABLE_CHECK(first->previous->seq < message.seq, "positions in a queue ascend (P5)");
        message.previous = std::exchange(first->previous, &message);
        message.previous->next = &message;
    } else {
        message.previous = &message;
        instance.messages = &message;
    }

    if (is_timer(added.kind)) {
        timers_.insert(message);
    }
    children_.add(added.seq, added.kind, added.text);
    if (message.deliverable_at() > at) {
        message.place = Message::Place::delayed;
        delayed_.push(message, key_of(message.deliverable_at()));
    } else {
        show(message);
    }
}

void TurnQueue::show(Message& message) {
    auto& instance = *message.instance;
    auto& inbox = instance.open_inbox();
    message.place = Message::Place::visible;
    const auto lowest = inbox.visible.empty() || message.seq < inbox.first_visible;
    inbox.visible.push_back(&message);
    if (lowest) {
        inbox.first_visible = message.seq;
    }
    if (starts_instance(message.kind)) {
        ++inbox.visible_starts;
    }

    switch (instance.place) {
    case Instance::Place::leased:
        break; // filed when the lease or the hiding ends
    case Instance::Place::hidden:
        if (message.cancels()) {
            file(instance);
        }
        break;
    case Instance::Place::idle:
        file(instance);
        break;
    case Instance::Place::ready:
        if (changes_class(message)) {
            file(instance);
        } else if (lowest) {
            inbox.ready->instances.change_key(instance, key_of(message.seq));
        }
        break;
    case Instance::Place::parked:
        if (starts_instance(message.kind)) {
            file(instance);
        } else if (!instance.exists()) {
            message.place = Message::Place::parked;
            parked_.push(message, key_of(message.deliverable_at()));
        }
        break;
    }
}

// Takes the message out of everything except Inbox::visible and messages_.
void TurnQueue::forget(Message& message) {
    auto& first = message.instance->messages;
    if (message.next != nullptr) {
        message.next->previous = message.previous;
    } else {
        first->previous = message.previous;
    }
    (first == &message ? first : message.previous->next) = message.next;
    switch (message.place) {
    case Message::Place::delayed:
        delayed_.erase(message);
        break;
    case Message::Place::parked:
        parked_.erase(message);
        break;
    case Message::Place::visible:
        break;
    }
    if (message.place != Message::Place::delayed && starts_instance(message.kind)) {
        DURABLE_CHECK(message.instance->inbox().visible_starts > 0, "visible starts are counted");
        --message.instance->open_inbox().visible_starts;
    }
    if (is_timer(message.kind)) {
        timers_.erase(message);
    } else if (message.kind == item_kind<work::StartOrchestration>) {
        children_.remove(message.seq);
    }
    message.doomed = true;
}

// Drops doomed messages from the visible ones and gives unused memory back.
void TurnQueue::compact(Instance& instance) {
    if (instance.inbox().visible.empty()) {
        return;
    }
    auto& inbox = instance.open_inbox();
    std::erase_if(inbox.visible, [](const Message* message) { return message->doomed; });
    if (inbox.visible.empty()) {
        std::vector<Message*>{}.swap(inbox.visible);
        return;
    }
    inbox.first_visible = (*std::ranges::min_element(inbox.visible, {}, &Message::seq))->seq;
}

void TurnQueue::remove(Instance& instance, std::span<const Seq> messages) {
    for (const auto seq : messages) {
        if (auto* message = find(seq); message != nullptr && !message->doomed) {
            forget(*message);
        }
    }
    compact(instance);
    for (const auto seq : messages) {
        if (auto* message = find(seq); message != nullptr) {
            messages_.erase(*message);
            std::unique_ptr<Message>{message}.reset();
        }
    }
}

void TurnQueue::remove_all(Instance& instance) {
    std::vector<Seq> all;
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        all.push_back(message->seq);
    }
    remove(instance, all);
}

Message* TurnQueue::find(Seq seq) {
    return messages_.find(mixed_hash(seq),
                          [&](const Message& message) { return message.seq == seq; });
}

std::vector<Seq> TurnQueue::find_timers(const Instance& instance,
                                        std::uint64_t execution_id,
                                        std::uint64_t timer_id) const {
    std::vector<Seq> found;
    timers_.for_each_near(mixed_hash(&instance, execution_id, timer_id), [&](const Message& timer) {
        if (timer.instance == &instance && timer.execution_id == execution_id &&
            timer.timer_id == timer_id) {
            found.push_back(timer.seq);
        }
    });
    std::ranges::sort(found);
    return found;
}

// ---- Time and choice

void TurnQueue::count_attempt(Instance& instance, std::span<const Seq> messages) {
    bool suspected = false;
    for (const auto seq : messages) {
        if (auto* message = find(seq); message != nullptr) {
            suspected = ++message->attempts == suspect_after || suspected;
        }
    }
    // A replayed journal leases nothing: the instance stays ready, in the class of suspects.
    if (suspected && instance.place == Instance::Place::ready) {
        file(instance);
    }
}

void TurnQueue::advance(Moment now) {
    while (!delayed_.empty() && delayed_.top_key() <= key_of(now.wall)) {
        auto& message = delayed_.top();
        delayed_.erase(message);
        show(message);
    }
    while (!hidden_.empty() && hidden_.top_key() <= key_of(now.wall)) {
        auto& instance = hidden_.top();
        leave(instance);
        instance.hidden = false; // hidden_until stays: it is durable state
        file(instance);
    }
    while (!lease_ends_.empty() && lease_ends_.top_key() <= key_of(now.steady)) {
        auto& ended = lease_ends_.top();
        drop(ended);
        file(*ended.instance);
    }
}

std::optional<Duration> TurnQueue::until_next(Moment now) const {
    Soonest soonest;
    if (!delayed_.empty()) {
        soonest.consider(delayed_.top_key(), key_of(now.wall));
    }
    if (!hidden_.empty()) {
        soonest.consider(hidden_.top_key(), key_of(now.wall));
    }
    if (!lease_ends_.empty()) {
        soonest.consider(lease_ends_.top_key(), key_of(now.steady));
    }
    return soonest.wait();
}

std::vector<Seq> TurnQueue::expired(Instant now, Duration ttl, std::size_t limit) const {
    std::vector<Seq> found;
    parked_.visit_due(key_of(add_saturating(now, -ttl)), [&](const Message& message) {
        found.push_back(message.seq);
        return found.size() < limit;
    });
    std::ranges::sort(found);
    return found;
}

Instance* TurnQueue::first_ready(const FetchOrchestration& request, Instant now) {
    Instance* best = nullptr;
    const auto consider = [&](Instance& instance) {
        if (best == nullptr || instance.inbox().first_visible < best->inbox().first_visible) {
            best = &instance;
        }
    };
    for (const auto& [turn, ready] : ready_) {
        const auto suited = suits(request, turn, suspects_);
        if (suited == Suits::yes) {
            consider(ready.instances.top());
        } else if (suited == Suits::late) {
            const auto latest =
                add_saturating(now, -std::max(*request.code->cancelled_for, Duration::zero()));
            for (const auto& [cancelled_at, instance] : ready.by_cancellation) {
                if (cancelled_at > latest) {
                    break;
                }
                consider(*instance);
            }
        }
    }
    if (best == nullptr) {
        return nullptr;
    }
    auto& visible = best->open_inbox().visible;
    if (!std::ranges::is_sorted(visible, {}, &Message::seq)) {
        std::ranges::sort(visible, {}, &Message::seq);
    }
    return best;
}

// ---- Leases

// P1: an instance has one lease; P3: the token of an earlier one is unknown from now on.
void TurnQueue::lease(Instance& instance, TurnLease granted) {
    leave(instance);
    release(instance);
    const auto token = granted.token;
    auto& held = leases_[token] = std::move(granted);
    held.instance = &instance;
    instance.open_inbox().lease = &held;
    leased_ += held.messages.size();
    if (held.suspect) {
        suspects_.take();
    }
    lease_ends_.push(held, key_of(held.until));
    file(instance);
}

void TurnQueue::release(Instance& instance) {
    auto* lease = instance.inbox().lease;
    if (lease == nullptr) {
        return;
    }
    if (lease->slot != no_slot) {
        drop(*lease);
    }
    instance.under_way->lease = nullptr;
    const auto token = lease->token; // a copy: erasing destroys the original
    leases_.erase(token);
}

void TurnQueue::drop(TurnLease& lease) {
    lease_ends_.erase(lease);
    DURABLE_CHECK(leased_ >= lease.messages.size(), "leased messages are counted");
    leased_ -= lease.messages.size();
    if (lease.suspect) {
        suspects_.give_back();
    }
}

void TurnQueue::extend(TurnLease& held, SteadyInstant until) {
    held.until = until;
    lease_ends_.change_key(held, key_of(until));
}

TurnLease* TurnQueue::find_lease(const Token& token) {
    const auto found = leases_.find(token);
    return found == leases_.end() ? nullptr : &found->second;
}

} // namespace durable::ledger
