// Programs for the property test: small random orchestrations as trees, interpreted by one
// coroutine. Everything a program observes goes into a digest, and the digest into the input of its
// next step, so a replay that shows it anything else makes another step.

#pragma once

#include <durable/context.hpp>
#include <durable/detail/handler.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace durable::property {

enum class Verb : std::uint8_t {
    // One step; these can also be begun without being awaited.
    call,
    retry, // with attempts, and a time limit for each or for all of them
    wait,
    dequeue,
    child,
    // Other leaves.
    sleep,
    read_other, // the KV of another instance
    detached,
    kv_set,
    kv_get,
    kv_clear,
    kv_clear_all,
    kv_prune,
    status,
    clear_status,
    identity, // uuid, time, execution
    log,
    undo, // registers a compensation
    fail,
    drop, // begins a step and gives up on it
    restart,
    // Branches.
    sequence,
    loop,
    attempt, // catches failures
    choose,  // by what was observed so far
    patched,
    all,
    settled,
    race,
    within,
    all_steps, // the same for operations instead of tasks
    settled_steps,
    race_steps,
    race_named, // an operation that loses against a timer is awaited again
    ahead,      // begins a step, does the rest, then awaits the step
    beside,     // starts a task, does the rest, then awaits the task
};

struct Node {
    Verb verb = Verb::sequence;
    unsigned a = 0; // what it means depends on the verb: a name, a duration, a count
    unsigned b = 0;
    std::vector<Node> children;
};

// `depth`: of a child. They are smaller, and the children of children call none.
[[nodiscard]] Node draw_program(std::uint64_t seed, std::size_t depth = 0);

// Ids that programs call children by and that others may have: p0, p1, p2.
inline constexpr unsigned shared_ids = 3;

// "sequence(call:0:2 race(wait:1:0 sleep:3:0))"
[[nodiscard]] std::string to_text(const Node& node);

// Makes the program smaller as long as `fails` says that it still fails.
[[nodiscard]] Node shrink(Node program, const std::function<bool(const Node&)>& fails);

// The program as registered code. The handler keeps it alive.
[[nodiscard]] std::shared_ptr<const OrchestrationHandler>
handler_of(std::shared_ptr<const Node> program);

// A program that is drawn from its input, as code for a registry: every child runs another one.
// What it answers begins with what it was asked: see question_of().
[[nodiscard]] Task<std::string> run_drawn(Context ctx, std::string input);

// The part of an input that stays the same when the instance continues as new.
[[nodiscard]] std::string question_of(std::string_view input);

} // namespace durable::property
