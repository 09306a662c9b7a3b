// Tracer: a hook for spans (OpenTelemetry and the like) around turns and activities.
//
// The span object is made and destroyed on the thread that runs the turn or the activity, around
// it, so an implementation may set thread-local context that user code then inherits.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace durable {

enum class SpanKind : std::uint8_t { turn, activity };

// Views are valid during the call of Tracer::start only.
struct SpanInfo {
    SpanKind kind = SpanKind::turn;
    std::string_view name; // of the orchestration or activity
    std::string_view instance;
    std::uint64_t execution_id = 0;
    std::uint64_t turn = 0;        // of a turn
    std::uint64_t activity_id = 0; // of an activity
    std::uint32_t attempt = 0;
};

class Span {
 public:
    Span() = default;
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    virtual ~Span() = default; // ends the span

    // Given once, just before the end. Of a turn: "running" (it waits), "completed", "failed",
    // "cancelled", "continued_as_new", "nondeterministic"; of an activity: "completed", "failed".
    virtual void set_outcome(std::string_view outcome) noexcept = 0;
};

// Called from any thread, never with a lock of the library held. Must not throw; nullptr is fine.
class Tracer {
 public:
    Tracer() = default;
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;
    virtual ~Tracer() = default;

    [[nodiscard]] virtual std::unique_ptr<Span> start(const SpanInfo& info) noexcept = 0;
};

} // namespace durable
