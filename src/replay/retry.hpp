// Calls with retries and timeouts, as coroutines over ordinary steps: each attempt, each pause and
// each time limit is an event of its own, and timers that are no longer needed are cancelled.

#pragma once

#include <durable/context.hpp>
#include <durable/operation.hpp>
#include <durable/options.hpp>
#include <durable/result.hpp>
#include <durable/task.hpp>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace durable::replay {

// Everything an attempt needs. A class with a constructor, because g++ 12 breaks aggregates that
// are coroutine parameters.
class RetryPlan {
 public:
    RetryPlan(detail::Engine& owner,
              const detail::StepRequest& request,
              const CallOptions& options,
              const detail::Slot& first)
        : engine{&owner},
          call_id{first.event_id},
          name{request.name},
          input{request.input},
          recode{request.recode},
          tag{request.tag},
          session{request.session},
          retry{options.retry},
          timeout{options.timeout},
          waits{first.waits},
          essential{first.essential},
          unanswered{first.unanswered},
          undo{first.undone ? request.undo : std::string_view{}},
          where{request.where} {}

    detail::Engine* engine;
    std::uint64_t call_id; // the step of the first attempt: what all of them have in common
    std::string name;
    std::string input;
    detail::Recode recode;
    std::string tag;
    std::string session;
    RetryPolicy retry;
    Duration timeout;
    bool waits; // from here on as in StepRequest, as the first attempt recorded them
    bool essential;
    bool* unanswered;
    std::string undo;
    std::source_location where;
};

// Neither retries nor limits, and nothing wrong with them: see retry_problem().
[[nodiscard]] bool is_plain(const CallOptions& options) noexcept;

// What is wrong with the options of a call, naming the field; empty when nothing is.
[[nodiscard]] std::string retry_problem(const CallOptions& options);

// The steps are made by the caller, so that they are scheduled when the call is made.
[[nodiscard]] Task<Outcome<std::string>> attempts(Context ctx,
                                                  RetryPlan plan,
                                                  Operation<std::string> first,
                                                  std::optional<Operation<void>> first_limit);
[[nodiscard]] Task<Outcome<std::string>>
limited(Task<Outcome<std::string>> work, Operation<void> total_limit, std::string activity);

} // namespace durable::replay
