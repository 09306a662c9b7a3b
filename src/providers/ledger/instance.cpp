#include "providers/ledger/instance.hpp"

#include "providers/ledger/record.hpp"

#include <durable/codec.hpp>

#include <algorithm>

namespace durable::ledger {

namespace {

// The text of a timer that goes off when its message becomes visible.
std::string plain_timer(const Message& message) {
    return encode(WorkItem{work::TimerFired{.instance = std::string{message.instance->id()},
                                            .execution_id = message.execution_id,
                                            .id = message.timer_id,
                                            .fire_at_ms = to_epoch_ms(message.visible_at)}})
        .value_or("");
}

} // namespace

std::string Message::text() const {
    return own_text.given() ? std::string{own_text.view()} : plain_timer(*this);
}

void Message::keep(std::string_view text) {
    const bool plain = kind == item_kind<work::TimerFired> && text == plain_timer(*this);
    own_text = plain ? PackedText{} : PackedText{text};
}

Execution* Instance::find_execution(std::uint64_t execution_id) noexcept {
    const auto found = std::ranges::lower_bound(executions, execution_id, {}, &Execution::id);
    return found != executions.end() && found->id == execution_id ? &*found : nullptr;
}

const Execution* Instance::find_execution(std::uint64_t execution_id) const noexcept {
    const auto found = std::ranges::lower_bound(executions, execution_id, {}, &Execution::id);
    return found != executions.end() && found->id == execution_id ? &*found : nullptr;
}

Execution& Instance::execution(std::uint64_t execution_id) {
    const auto found = std::ranges::lower_bound(executions, execution_id, {}, &Execution::id);
    if (found != executions.end() && found->id == execution_id) {
        return *found;
    }
    if (executions.empty()) {
        executions.reserve(1); // most instances have one
    }
    const auto made =
        executions.emplace(std::ranges::lower_bound(executions, execution_id, {}, &Execution::id));
    made->id = execution_id;
    return *made;
}

std::uint64_t Instance::latest_execution() const noexcept {
    for (auto execution = executions.rbegin(); execution != executions.rend(); ++execution) {
        if (execution->recorded) {
            return execution->id;
        }
    }
    return 1;
}

Extras& Instance::extra() {
    if (!extras) {
        extras = std::make_unique<Extras>();
    }
    return *extras;
}

const Inbox& Instance::inbox() const noexcept {
    static const Inbox nothing;
    return under_way ? *under_way : nothing;
}

Inbox& Instance::open_inbox() {
    if (!under_way) {
        under_way = std::make_unique<Inbox>();
    }
    return *under_way;
}

void Instance::close_inbox() noexcept {
    if (under_way && under_way->unused()) {
        under_way.reset();
    }
}

bool has_queued_start(const Instance& instance) noexcept {
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        if (message->kind == item_kind<work::StartOrchestration>) {
            return true;
        }
    }
    return false;
}

std::optional<history::OrchestrationStarted> stored_start(const Instance& instance) {
    const auto* execution = instance.find_execution(instance.latest_execution());
    if (execution == nullptr) {
        return std::nullopt;
    }
    const auto texts = execution->history.after(0);
    std::optional<history::OrchestrationStarted> start;
    for (std::size_t index = 0; index < texts.size(); ++index) {
        auto event = decode_event(texts[index]);
        if (!event) {
            return std::nullopt;
        }
        if (auto* started = std::get_if<history::OrchestrationStarted>(&event->kind);
            started != nullptr && !start) {
            start = std::move(*started);
        }
    }
    return start;
}

} // namespace durable::ledger
