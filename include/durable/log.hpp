// Logger: where the library and the code it runs write what happened, as structured records.
//
// Give one to RuntimeOptions. Without it, warnings and errors go to stderr as text.

#pragma once

#include <durable/time.hpp>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string_view>

namespace durable {

enum class LogLevel : std::uint8_t { trace, debug, info, warn, error };

[[nodiscard]] constexpr std::string_view name_of(LogLevel level) noexcept {
    switch (level) {
    case LogLevel::trace:
        return "trace";
    case LogLevel::debug:
        return "debug";
    case LogLevel::info:
        return "info";
    case LogLevel::warn:
        return "warn";
    case LogLevel::error:
        return "error";
    }
    return "unknown";
}

struct LogField {
    std::string_view name;
    std::string_view value;
};

// Views are valid during the call of Logger::write only.
struct LogRecord {
    LogLevel level = LogLevel::info;
    // The writer: "orchestration" and "activity" are user code, "runtime" and "client" the library.
    std::string_view source;
    std::string_view message;
    Instant time;
    std::string_view instance;      // empty: not about one instance
    std::uint64_t execution_id = 0; // 0: unknown
    std::uint64_t turn = 0;         // counts the turns of the execution; 0: outside of a turn
    std::span<const LogField> fields;
};

// Called from any thread, never with a lock of the library held. Must not throw.
class Logger {
 public:
    Logger() = default;
    Logger(const Logger&) = delete;
    Logger& operator=(const Logger&) = delete;
    virtual ~Logger() = default;

    // Called before a record is put together, so that a disabled level costs nothing.
    [[nodiscard]] virtual bool enabled(LogLevel level, std::string_view source) const noexcept = 0;
    virtual void write(const LogRecord& record) noexcept = 0;
};

// One line per record for people; further lines of a message follow it, indented:
//     2026-01-31T12:00:00.123Z warn runtime order-7/1#3 activity failed activity=Charge attempt=2
// It outlives a stream that fails, also one with exceptions switched on (a full disk): that record
// is lost, the process is not. The stream keeps its error state until its owner clears it.
[[nodiscard]] std::shared_ptr<Logger> text_logger(std::ostream& out, LogLevel least);

// One JSON object per line for machines, with the same content. A record that fails is lost, too.
[[nodiscard]] std::shared_ptr<Logger> json_logger(std::ostream& out, LogLevel least);

[[nodiscard]] std::shared_ptr<Logger> silent_logger();

} // namespace durable
