#include "store.hpp"

#include <durable/history_event.hpp>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <variant>

#include <unistd.h>

namespace files_store {

const Queued* Inbox::first_start() const {
    const Queued* first = nullptr;
    for (const auto* messages : {&due, &later}) {
        const auto found = std::ranges::find_if(*messages, &Queued::is<work::StartOrchestration>);
        if (found != messages->end() && (first == nullptr || found->number < first->number)) {
            first = &*found;
        }
    }
    return first;
}

// Its start tells it apart from every other instance that has had, or will have, the id.
std::uint64_t Inbox::incarnation() const {
    std::uint64_t first = 0;
    for (const auto* messages : {&due, &later}) {
        const auto found = std::ranges::find_if(*messages, &Queued::starts);
        if (found != messages->end() && (first == 0 || found->number < first)) {
            first = found->number;
        }
    }
    return first;
}

std::uint32_t Inbox::attempts() const {
    std::uint32_t most = 0;
    for (const auto* messages : {&due, &later}) {
        for (const auto& message : *messages) {
            most = std::max(most, message.about.attempts);
        }
    }
    return most;
}

std::string Row::status() const {
    return current ? current->status
                   : std::string{pending ? name_of(ExecutionStatus::pending) : "Unknown"};
}

bool Row::is(ExecutionStatus status) const {
    return current && current->status == name_of(status);
}

std::optional<Parked> Row::parked() const {
    if (!meta->parked) {
        return std::nullopt;
    }
    return Parked{.reason = *meta->parked, .since = Instant{Duration{meta->parked_at_ms}}};
}

Store::Store(const std::string& directory, Options options)
    : clock_{options.clock ? options.clock : system_clock()},
      options_{std::move(options)},
      directory_{directory, options_.durability, options_.observer},
      jumps_{clock_->on_jump([this] {
          const std::scoped_lock lock{mutex_};
          wake();
      })} {}

Millis Store::after(std::optional<Duration> delay) const {
    const auto wait = std::max(delay.value_or(Duration::zero()), Duration::zero());
    return add_saturating(clock_->now(), wait).time_since_epoch().count();
}

// P3: it cannot be guessed, and no other process has given out the same.
std::string Store::new_token() {
    std::array<std::uint64_t, 2> random{};
    if (::getentropy(random.data(), sizeof random) != 0) {
        throw std::system_error{errno, std::generic_category(), "getentropy"};
    }
    return std::to_string(random[0]) + "-" + std::to_string(random[1]);
}

Row Store::row(const std::string& id) const {
    Row row{.meta = records_.meta(id)};
    if (row.meta) {
        row.current = records_.execution(id, row.meta->execution);
        row.pending = !row.current && records_.executions(id).empty();
        if (row.current && row.current->status.empty()) {
            row.current.reset();
        }
    }
    return row;
}

// What the history says of an instance that has no row: P8 lets tools write one before the other.
std::optional<history::OrchestrationStarted> Store::stored_start(const std::string& id) const {
    try {
        for (const auto& event : records_.history(id, records_.latest(id))) {
            if (const auto* start = std::get_if<history::OrchestrationStarted>(&event.kind)) {
                return *start;
            }
        }
        return std::nullopt;
    } catch (const Refusal&) {
        return std::nullopt; // damaged: it starts nothing
    }
}

Inboxes Store::inboxes() {
    Inboxes all;
    for (auto& message : records_.items(orchestrator_queue, now())) {
        auto& inbox = all[target_instance(message.item)];
        (message.deliverable(now()) ? inbox.due : inbox.later).push_back(std::move(message));
    }
    const auto ttl = std::max<Duration>(options_.unstarted_message_ttl, Duration::zero());
    const auto latest = add_saturating(clock_->now(), -ttl).time_since_epoch().count();
    for (auto& [id, inbox] : all) {
        const auto old = [&](const Queued& message) {
            return message.deliverable_from() <= latest;
        };
        if (std::ranges::none_of(inbox.due, old) || inbox.has_start() || records_.meta(id) ||
            stored_start(id)) {
            continue;
        }
        for (const auto& message : inbox.due) {
            if (old(message)) {
                records_.quarantine(message,
                                    {.queue = orchestrator_queue,
                                     .instance = id,
                                     .reason = "expired: its instance did not start in time",
                                     .at_ms = now(),
                                     .expired = true});
            }
        }
        std::erase_if(inbox.due, old);
    }
    return all;
}

bool Store::suspect_under_way() const {
    const auto lone = [&](const auto& entry) {
        return entry.second.lone_suspect && live(entry.second);
    };
    return std::ranges::any_of(turns_, lone) || std::ranges::any_of(works_, lone);
}

bool Store::held(const std::string& file) const {
    const auto holds = [&](const auto& entry) {
        return live(entry.second) && contains(entry.second.files, file);
    };
    return std::ranges::any_of(turns_, holds) || std::ranges::any_of(works_, holds);
}

void Store::forget_leases_on(const Change& removed) {
    for (const auto& step : removed) {
        works_.erase(step.file);
    }
}

Duration Store::until_next(std::optional<Duration> patience) {
    auto next = Duration::max();
    const auto at = [&](Millis moment) {
        next = moment > now() ? std::min(next, Duration{moment - now()}) : next;
    };
    const auto until = [&](SteadyInstant moment) {
        next = moment > steady() ? std::min<Duration>(next, moment - steady()) : next;
    };
    for (const auto* queue : {orchestrator_queue, worker_queue}) {
        for (const auto& item : records_.items(queue, now())) {
            at(item.deliverable(now()) ? 0 : item.deliverable_from());
            if (item.is<work::CancelInstance>() && patience) {
                at(item.deliverable_since(*patience));
            }
            at(records_.hidden(target_instance(item.item)).until_ms);
        }
    }
    for (const auto* leases : {&turns_, &works_}) {
        for (const auto& [leased, lease] : *leases) {
            until(lease.until);
        }
    }
    for (const auto& [id, session] : sessions_) {
        until(session.until);
    }
    return next;
}

} // namespace files_store
