#include "base/deadline.hpp"
#include "base/random.hpp"
#include "base/try.hpp"
#include "base/utf8.hpp"
#include "model/ids.hpp"

#include <durable/client.hpp>
#include <durable/management.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace durable {

namespace {

// Random UUID, version 4.
std::string new_uuid() {
    const auto high = (system_random()->next() & ~0xf000ULL) | 0x4000ULL;
    const auto low = (system_random()->next() & ~(3ULL << 62U)) | (1ULL << 63U);
    std::array<char, 40> text{};
    const int length = std::snprintf(text.data(),
                                     text.size(),
                                     "%08x-%04x-%04x-%04x-%012llx",
                                     static_cast<unsigned>(high >> 32U),
                                     static_cast<unsigned>(high >> 16U) & 0xffffU,
                                     static_cast<unsigned>(high) & 0xffffU,
                                     static_cast<unsigned>(low >> 48U),
                                     static_cast<unsigned long long>(low) & 0xffffffffffffULL);
    return {text.data(), static_cast<std::size_t>(length)};
}

Result<> refuse_if(std::string problem, std::string_view operation = {}) {
    if (problem.empty()) {
        return {};
    }
    return fail(ErrorCode::invalid_argument, std::move(problem), std::string{operation});
}

Result<> check_id(const std::string& id) {
    return refuse_if(id_problem(id));
}

Result<> check_name(std::string_view name) {
    if (const auto* problem = detail::name_problem(name)) {
        return fail(ErrorCode::invalid_argument,
                    std::string{problem} + ": '" + utf8::printable(name) + "'");
    }
    return {};
}

Result<> check_options(const StartOptions& options) {
    if (!options.id.empty()) {
        DURABLE_TRY(refuse_if(given_id_problem(options.id), "start"));
    }
    if (!options.version.empty()) {
        DURABLE_TRY(refuse_if(version_problem(options.version), "start"));
    }
    if (options.existing > Existing::attach) {
        return refuse_if("StartOptions::existing is none of its values: " +
                             std::to_string(static_cast<unsigned>(options.existing)),
                         "start");
    }
    if (options.delay < Duration::zero()) {
        return refuse_if("StartOptions::delay must not be negative: " +
                             std::to_string(options.delay.count()) + " ms",
                         "start");
    }
    return {};
}

RunStatus run_status(const InstanceState& state) {
    if (!state.exists) {
        return RunStatus::not_found;
    }
    switch (state.status) {
    case ExecutionStatus::completed:
        return RunStatus::completed;
    case ExecutionStatus::failed:
        return RunStatus::failed;
    case ExecutionStatus::pending:
        return RunStatus::pending;
    case ExecutionStatus::running:
    case ExecutionStatus::continued_as_new:
        break;
    }
    return RunStatus::running;
}

OrchestrationStatus to_status(const InstanceState& state) {
    OrchestrationStatus status{.status = run_status(state),
                               .orchestration = state.orchestration_name,
                               .version = state.orchestration_version,
                               .execution_id = state.execution_id,
                               .custom_status = state.custom_status.status,
                               .custom_status_version = state.custom_status.version,
                               .parked = state.parked};
    if (status.status == RunStatus::completed) {
        status.output = state.output.value_or("");
    } else if (status.status == RunStatus::failed) {
        status.failure = state.failure.value_or(details::Infrastructure{
            .operation = "watch_instance", .message = state.output.value_or("")});
    }
    return status;
}

struct Watched {
    const std::string& id;
    Duration limit;
    bool ended_only = false;
};

// Reads the state, and again after every change (P11), until `done` or the limit.
template <class Done>
Result<InstanceState>
watch_until(Provider& provider, Clock& clock, const Watched& watched, Done done) {
    const auto& [id, limit, ended_only] = watched;
    DURABLE_TRY(check_id(id));
    if (limit < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "the time limit of a wait must not be negative: " +
                        std::to_string(limit.count()) + " ms");
    }
    const auto deadline = deadline_after(clock, limit);
    // An instance that has not begun is not done: the first call may wait, too.
    WatchInstance watch{.instance = id, .timeout = limit, .ended_only = ended_only};
    while (true) {
        DURABLE_TRY_ASSIGN(auto state, provider.watch_instance(watch));
        DURABLE_TRY_ASSIGN(const bool finished, done(state));
        if (finished) {
            return state;
        }
        const auto now = clock.steady();
        if (now >= deadline) {
            return fail(ErrorCode::timed_out,
                        "gave up waiting for " + id + " after " + std::to_string(limit.count()) +
                            " ms");
        }
        watch.seen_revision = state.revision;
        watch.timeout = deadline - now;
    }
}

} // namespace

std::string_view name_of(RunStatus status) noexcept {
    switch (status) {
    case RunStatus::not_found:
        return "NotFound";
    case RunStatus::pending:
        return "Pending";
    case RunStatus::running:
        return "Running";
    case RunStatus::completed:
        return "Completed";
    case RunStatus::failed:
        return "Failed";
    }
    return "Unknown";
}

Client::Client(std::shared_ptr<Provider> provider, std::shared_ptr<Clock> clock)
    : provider_{std::move(provider)}, clock_{clock ? std::move(clock) : system_clock()} {
    if (provider_ == nullptr) {
        throw std::invalid_argument{"Client: there is no provider"};
    }
}

Result<std::string>
Client::send_start(std::string_view name, std::string input, StartOptions options) const {
    DURABLE_TRY(check_name(name));
    DURABLE_TRY(check_options(options));
    if (options.id.empty()) {
        options.id = new_uuid();
    }
    work::StartOrchestration start{
        .instance = options.id, .orchestration = std::string{name}, .input = std::move(input)};
    if (!options.version.empty()) {
        start.version = std::move(options.version);
    }
    const auto delay =
        options.delay > Duration::zero() ? std::optional<Duration>{options.delay} : std::nullopt;
    // P15: of several callers with this id, one makes the instance and the others get an error.
    const auto started = provider_->start_instance(start, delay);
    if (started) {
        return std::move(options.id);
    }
    if (started.error().code != ErrorCode::already_exists) {
        return std::unexpected{started.error()};
    }
    if (options.existing == Existing::attach) {
        return std::move(options.id);
    }
    return fail(ErrorCode::already_exists, "instance " + options.id + " exists", "start");
}

Result<Run<std::string>>
Client::start(std::string_view orchestration, std::string input, StartOptions options) const {
    DURABLE_TRY_ASSIGN(auto id, send_start(orchestration, std::move(input), std::move(options)));
    return Run<std::string>{*this, std::move(id)};
}

Result<> Client::raise(const std::string& id, std::string_view event, std::string data) const {
    DURABLE_TRY(check_id(id));
    DURABLE_TRY(check_name(event));
    return provider_->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = id, .name = std::string{event}, .data = std::move(data)},
        std::nullopt);
}

Result<> Client::enqueue(const std::string& id, std::string_view queue, std::string data) const {
    DURABLE_TRY(check_id(id));
    DURABLE_TRY(check_name(queue));
    return provider_->enqueue_for_orchestrator(
        work::QueueMessage{.instance = id, .name = std::string{queue}, .data = std::move(data)},
        std::nullopt);
}

Result<> Client::cancel(const std::string& id, std::string reason) const {
    DURABLE_TRY(check_id(id));
    DURABLE_TRY_ASSIGN(const auto state, provider_->watch_instance({.instance = id}));
    if (!state.exists && state.incarnation == 0) {
        return fail(ErrorCode::not_found, "instance " + id + " not found", "cancel");
    }
    // Cancels this incarnation, not one that is started under its id after a deletion.
    work::CancelInstance cancel{.instance = id, .reason = std::move(reason)};
    if (state.incarnation != 0) {
        cancel.incarnation = state.incarnation;
    }
    return provider_->enqueue_for_orchestrator(std::move(cancel), std::nullopt);
}

Result<OrchestrationStatus> Client::status(const std::string& id) const {
    DURABLE_TRY(check_id(id));
    DURABLE_TRY_ASSIGN(const auto state, provider_->watch_instance({.instance = id}));
    return to_status(state);
}

Result<OrchestrationStatus> Client::wait(const std::string& id, Timespan limit) const {
    const auto ended = [](const InstanceState& state) -> Result<bool> {
        const auto status = run_status(state);
        return status == RunStatus::completed || status == RunStatus::failed;
    };
    DURABLE_TRY_ASSIGN(
        const auto state,
        watch_until(*provider_, *clock_, {.id = id, .limit = limit, .ended_only = true}, ended));
    return to_status(state);
}

Result<OrchestrationStatus> Client::wait_for_status_change(const std::string& id,
                                                           std::uint64_t seen_version,
                                                           Timespan limit) const {
    const auto changed = [&](const InstanceState& state) -> Result<bool> {
        const auto status = run_status(state);
        return state.custom_status.version > seen_version || status == RunStatus::completed ||
               status == RunStatus::failed;
    };
    DURABLE_TRY_ASSIGN(const auto state,
                       watch_until(*provider_, *clock_, {.id = id, .limit = limit}, changed));
    return to_status(state);
}

Result<std::optional<std::string>> Client::kv(const std::string& id, const std::string& key) const {
    DURABLE_TRY(check_id(id));
    return provider_->get_kv_value(id, key);
}

Result<std::map<std::string, std::string>> Client::kv_all(const std::string& id) const {
    DURABLE_TRY(check_id(id));
    return provider_->get_kv_all_values(id);
}

Result<std::string>
Client::wait_for_kv(const std::string& id, const std::string& key, Timespan limit) const {
    std::optional<std::string> value;
    // The state is read before the key: a value that is set after that read changes the revision.
    const auto present = [&](const InstanceState& state) -> Result<bool> {
        DURABLE_TRY_ASSIGN(value, provider_->get_kv_value(id, key));
        const auto status = run_status(state);
        if (!value && (status == RunStatus::completed || status == RunStatus::failed)) {
            return fail(ErrorCode::not_found, id + " ended without a value for '" + key + "'");
        }
        return value.has_value();
    };
    DURABLE_TRY(watch_until(*provider_, *clock_, {.id = id, .limit = limit}, present));
    return *std::move(value);
}

Result<std::optional<InstanceStats>> Client::stats(const std::string& id) const {
    DURABLE_TRY(check_id(id));
    return provider_->get_instance_stats(id);
}

bool Client::has_management() const noexcept {
    return provider_->as_management_capability() != nullptr;
}

Result<Management> Client::management() const {
    return Management::of(provider_);
}

} // namespace durable
