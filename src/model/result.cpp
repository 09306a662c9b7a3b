#include <durable/result.hpp>

namespace durable {

std::string_view name_of(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::unavailable:
        return "unavailable";
    case ErrorCode::lock_lost:
        return "lock_lost";
    case ErrorCode::not_found:
        return "not_found";
    case ErrorCode::already_exists:
        return "already_exists";
    case ErrorCode::invalid_argument:
        return "invalid_argument";
    case ErrorCode::corrupt:
        return "corrupt";
    case ErrorCode::still_running:
        return "still_running";
    case ErrorCode::not_a_root:
        return "not_a_root";
    case ErrorCode::has_children:
        return "has_children";
    case ErrorCode::unsupported:
        return "unsupported";
    case ErrorCode::timed_out:
        return "timed_out";
    case ErrorCode::orchestration_failed:
        return "orchestration_failed";
    case ErrorCode::storage_failed:
        return "storage_failed";
    }
    return "unknown";
}

std::string Error::text() const {
    return operation.empty() ? message : operation + ": " + message;
}

} // namespace durable
