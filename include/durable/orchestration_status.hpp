// What anybody may know about an instance from outside: how it stands and what it said last.

#pragma once

#include <durable/error_details.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable {

enum class RunStatus : std::uint8_t { not_found, running, completed, failed };

// "NotFound", "Running", "Completed", "Failed".
[[nodiscard]] std::string_view name_of(RunStatus status) noexcept;

// An instance between two executions is running: nobody outside can tell them apart.
struct OrchestrationStatus {
    RunStatus status = RunStatus::not_found;
    std::string orchestration;
    std::string version;
    std::uint64_t execution_id = 0;
    std::string output;                  // completed: the result
    std::optional<ErrorDetails> failure; // failed: why
    std::optional<std::string> custom_status;
    std::uint64_t custom_status_version = 0; // 0: never set

    [[nodiscard]] bool ended() const noexcept {
        return status == RunStatus::completed || status == RunStatus::failed;
    }
};

} // namespace durable
