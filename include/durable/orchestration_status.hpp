// OrchestrationStatus: what a client sees of an instance: its state, result and custom status.

#pragma once

#include <durable/error_details.hpp>
#include <durable/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable {

// `pending`: started, and no turn of it is stored yet.
enum class RunStatus : std::uint8_t { not_found, pending, running, completed, failed };

// "NotFound", "Pending", "Running", "Completed", "Failed".
[[nodiscard]] std::string_view name_of(RunStatus status) noexcept;

// An instance between two executions counts as running: clients do not see single executions.
struct OrchestrationStatus {
    RunStatus status = RunStatus::not_found;
    std::string orchestration;
    std::string version;
    std::uint64_t execution_id = 0;
    std::string output;                  // completed: the result
    std::optional<ErrorDetails> failure; // failed: why
    std::optional<std::string> custom_status;
    std::uint64_t custom_status_version = 0; // 0: never set
    // A node has taken it and given it back: why, and since when. It goes on by itself as soon as
    // the reason is gone. An instance whose code no node has waits without one: see
    // Management::parked.
    std::optional<Parked> parked;

    [[nodiscard]] bool ended() const noexcept {
        return status == RunStatus::completed || status == RunStatus::failed;
    }
};

} // namespace durable
