#include "replay/execution.hpp"

#include "replay/engine.hpp"

#include <utility>

namespace durable::replay {

Execution::Execution(std::unique_ptr<Engine> engine) noexcept : engine_{std::move(engine)} {}

Execution::~Execution() {
    if (!engine_->close()) {
        // An operation in a global variable is the user's mistake, but it must not touch freed
        // memory: its engine stays, inert, as long as the operation does.
        static_cast<void>(engine_.release());
    }
}

std::unique_ptr<Execution> Execution::create(ExecutionSetup setup) {
    auto engine = std::make_unique<Engine>(std::move(setup));
    return std::unique_ptr<Execution>{new Execution{std::move(engine)}};
}

bool Execution::replay(std::span<const HistoryEvent> history, ReplayMode mode) {
    return engine_->replay(history, mode);
}

TurnResult Execution::run(std::span<const WorkItem> messages, Instant now) {
    return engine_->run(messages, now);
}

const std::string& Execution::instance() const noexcept {
    return engine_->instance();
}
std::uint64_t Execution::execution_id() const noexcept {
    return engine_->execution_id();
}
std::uint64_t Execution::last_event_id() const noexcept {
    return engine_->last_event_id();
}
bool Execution::ended() const noexcept {
    return engine_->ended();
}
const std::shared_ptr<const OrchestrationHandler>& Execution::handler() const noexcept {
    return engine_->handler();
}
const NondeterminismReport* Execution::nondeterminism() const noexcept {
    return engine_->nondeterminism();
}
const std::string* Execution::unknown_kv_read() const noexcept {
    return engine_->unknown_kv_read();
}
std::size_t Execution::memory_bytes() const noexcept {
    return sizeof(*this) + engine_->memory_bytes();
}

} // namespace durable::replay
