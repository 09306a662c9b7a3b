// The coroutine that runs a program.

#include "property/program.hpp"

#include <durable/context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace durable::property {

namespace {

using namespace std::chrono_literals; // NOLINT(google-build-using-namespace): durations read better

// What the program has seen. Lives in the frame of the root.
struct Seen {
    std::uint64_t digest = 0xcbf29ce484222325U;

    void add(std::string_view text) noexcept {
        for (const char c : text) {
            digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        }
        digest = (digest ^ 0xffU) * 0x100000001b3U;
    }
    void add_outcome(const Outcome<std::string>& outcome) {
        add(outcome ? *outcome : "failed: " + outcome.error().kind + outcome.error().message);
    }
    [[nodiscard]] std::string text() const { return std::to_string(digest); }
};

struct Scope {
    Context ctx;
    Seen* seen;
    std::string_view question; // see question_of(); lives in the frame of the root

    // What a child is asked: no other caller asks the same.
    [[nodiscard]] std::string question_for_child() const {
        const auto depth = std::min(question.find_first_not_of('>'), question.size());
        return std::string(depth + 1, '>') + seen->text() + "|";
    }
};

std::string numbered(std::string_view name, unsigned number) {
    return std::string{name} + std::to_string(number);
}

CallOptions options_of(const Node& node) {
    CallOptions options;
    options.retry.max_attempts = static_cast<int>(1 + node.a);
    options.retry.backoff = (node.b & 1U) != 0 ? Backoff::fixed : Backoff::none;
    options.retry.first_delay = 500ms;
    options.retry.only_retryable = node.a == 3;
    if ((node.b & 2U) != 0) {
        options.timeout = 3s;
    }
    if ((node.b & 4U) != 0) {
        options.total_timeout = 7s;
    }
    return options;
}

Operation<std::string> begin(Scope in, const Node& node) {
    switch (node.verb) {
    case Verb::retry:
        return in.ctx.call_raw(numbered("R", node.a), in.seen->text(), options_of(node));
    case Verb::wait:
        return in.ctx.wait_for_raw(numbered("E", node.a % 2));
    case Verb::dequeue:
        return in.ctx.dequeue_raw(numbered("Q", node.a % 2));
    case Verb::child: {
        ChildOptions options;
        options.when_dropped = node.b % 3 == 0 ? ChildPolicy::abandon : ChildPolicy::cancel;
        auto id = "fixed-" + in.seen->text();
        if (node.b == 4 || node.b == 5) { // another instance may have the id, or this one
            id = node.a < shared_ids ? numbered("p", node.a) : in.ctx.instance();
        }
        if (node.b % 4 == 0 || node.b == 5) {
            options.id = id;
        }
        return in.ctx.call_child_raw(numbered("C", node.a), in.question_for_child(), options);
    }
    default:
        return in.ctx.call_raw(numbered("A", node.a), in.seen->text());
    }
}

std::vector<Operation<std::string>> begin_all(Scope in, const Node& node) {
    std::vector<Operation<std::string>> begun;
    for (const auto& child : node.children) {
        begun.push_back(begin(in, child));
    }
    return begun;
}

// Leaves that wait for nothing.
void at_once(Scope in, const Node& node) {
    const auto key = numbered("k", node.a);
    const auto kv = in.ctx.kv();
    switch (node.verb) {
    case Verb::detached:
        in.seen->add(in.ctx.start_detached_raw(numbered("D", node.a), in.question_for_child()));
        break;
    case Verb::kv_set:
        kv.set(key, in.seen->text());
        break;
    case Verb::kv_get:
        in.seen->add(kv.get(key).value_or("(none)"));
        break;
    case Verb::kv_clear:
        kv.clear(key);
        break;
    case Verb::kv_clear_all:
        kv.clear_all();
        break;
    case Verb::kv_prune:
        in.seen->add(std::to_string(kv.prune(in.ctx.now() - std::chrono::seconds{node.b})));
        break;
    case Verb::status:
        in.seen->add(in.ctx.status().value_or("(none)"));
        in.ctx.set_status(in.seen->text());
        break;
    case Verb::clear_status:
        in.ctx.clear_status();
        break;
    case Verb::identity:
        in.seen->add(in.ctx.new_uuid());
        in.seen->add(std::to_string(to_epoch_ms(in.ctx.now())));
        in.seen->add(std::to_string(in.ctx.execution_id()));
        break;
    case Verb::log:
        in.ctx.log(LogLevel::info, in.seen->text());
        break;
    case Verb::undo:
        in.ctx.on_failure_raw(numbered("U", node.a), in.seen->text());
        break;
    case Verb::drop: {
        // Of a child: by an id that may be taken.
        const auto dropped =
            begin(in, {.verb = static_cast<Verb>(node.b % 5), .a = node.a, .b = node.b + 1});
        in.seen->add(dropped.ready() ? "ready" : "pending");
        break;
    }
    default:
        throw std::runtime_error{"failed on purpose"};
    }
}

Task<void> evaluate(Scope in, const Node* node);

std::vector<Task<void>> tasks_of(Scope in, const Node& node) {
    std::vector<Task<void>> tasks;
    for (const auto& child : node.children) {
        tasks.push_back(evaluate(in, &child));
    }
    return tasks;
}

Task<void> together(Scope in, const Node* node) {
    auto tasks = tasks_of(in, *node);
    if (node->verb == Verb::all) {
        const auto done = co_await all{std::move(tasks)};
        in.seen->add(std::to_string(done.size()));
    } else if (node->verb == Verb::settled) {
        const auto outcomes = co_await all_settled{std::move(tasks)};
        for (const auto& outcome : outcomes) {
            in.seen->add(outcome ? "done" : outcome.error().message);
        }
    } else if (node->verb == Verb::race) {
        const auto winner = co_await race{std::move(tasks)};
        in.seen->add(std::to_string(winner.index));
    } else {
        const auto limit = std::chrono::seconds{node->b};
        const auto in_time = co_await in.ctx.within(limit, std::move(tasks.front()));
        in.seen->add(in_time ? "in time" : "too late");
    }
}

Task<void> steps_together(Scope in, const Node* node) {
    auto begun = begin_all(in, *node);
    if (node->verb == Verb::all_steps) {
        const auto values = co_await all{std::move(begun)};
        for (const auto& value : values) {
            in.seen->add(value);
        }
    } else if (node->verb == Verb::settled_steps) {
        const auto outcomes = co_await all_settled{std::move(begun)};
        for (const auto& outcome : outcomes) {
            in.seen->add_outcome(outcome);
        }
    } else if (node->verb == Verb::race_steps) {
        const auto winner = co_await race{std::move(begun)};
        in.seen->add(std::to_string(winner.index) + winner.value);
    } else {
        auto& kept = begun.front();
        auto timer = in.ctx.sleep(std::chrono::seconds{node->b});
        const auto first = co_await race{kept, timer};
        in.seen->add(std::to_string(first.index()) + (timer.ready() ? " fired" : " waiting"));
        if (first.index() == 1) {
            const auto outcome = co_await std::move(kept).as_result();
            in.seen->add_outcome(outcome);
        }
    }
}

Task<void> overlapping(Scope in, const Node* node) {
    if (node->verb == Verb::ahead) {
        auto step = begin(in, node->children[0]);
        co_await evaluate(in, &node->children[1]);
        in.seen->add(step.ready() ? "ready" : "pending");
        const auto outcome = co_await std::move(step).as_result();
        in.seen->add_outcome(outcome);
    } else {
        auto task = evaluate(in, &node->children[0]);
        task.start();
        co_await evaluate(in, &node->children[1]);
        co_await task;
    }
}

Task<void> in_order(Scope in, const Node* node) {
    const auto rounds = node->verb == Verb::loop ? 1 + node->a % 3 : 1;
    for (unsigned round = 0; round < rounds; ++round) {
        for (const auto& child : node->children) {
            co_await evaluate(in, &child);
        }
    }
}

Task<void> guarded(Scope in, const Node* node) {
    try {
        co_await evaluate(in, node->children.data());
    } catch (const std::exception& error) {
        in.seen->add(error.what());
    }
}

// The next execution knows what this one saw.
Task<void> restarted(Scope in, const Node* node) {
    if (in.ctx.execution_id() < 1 + node->a) {
        const auto input = std::string{in.question} + "|" + in.seen->text();
        co_await in.ctx.continue_as_new_raw(input);
    }
}

// Leaves that are awaited.
Task<void> step(Scope in, const Node* node) {
    if (node->verb == Verb::sleep) {
        co_await in.ctx.sleep(std::chrono::seconds{node->b});
        in.seen->add("slept");
    } else if (node->verb == Verb::read_other) {
        const auto value = co_await in.ctx.kv().of("other", numbered("k", node->a));
        in.seen->add(value ? std::string_view{*value} : "(none)");
    } else {
        const auto value = co_await begin(in, *node);
        in.seen->add(value);
    }
}

// Which coroutine runs a node. Not a coroutine itself: one frame per node is enough.
Task<void> evaluate(Scope in, const Node* node) {
    switch (node->verb) {
    case Verb::call:
    case Verb::retry:
    case Verb::wait:
    case Verb::dequeue:
    case Verb::child:
    case Verb::sleep:
    case Verb::read_other:
        return step(in, node);
    case Verb::all:
    case Verb::settled:
    case Verb::race:
    case Verb::within:
        return together(in, node);
    case Verb::all_steps:
    case Verb::settled_steps:
    case Verb::race_steps:
    case Verb::race_named:
        return steps_together(in, node);
    case Verb::ahead:
    case Verb::beside:
        return overlapping(in, node);
    case Verb::attempt:
        return guarded(in, node);
    case Verb::restart:
        return restarted(in, node);
    case Verb::sequence:
    case Verb::loop:
        return in_order(in, node);
    case Verb::choose:
    case Verb::patched:
        return [](Scope scope, const Node* fork) -> Task<void> {
            const bool second = fork->verb == Verb::choose
                                    ? scope.seen->digest % 2 == 0
                                    : scope.ctx.patched(numbered("p", fork->a));
            co_await evaluate(scope, &fork->children[second ? 1 : 0]);
        }(in, node);
    default:
        return [](Scope scope, const Node* leaf) -> Task<void> {
            at_once(scope, *leaf);
            co_return;
        }(in, node);
    }
}

Task<std::string> run(Context ctx, const Node* program, std::string input) {
    Seen seen;
    seen.add(input);
    const auto question = question_of(input);
    co_await evaluate({.ctx = ctx, .seen = &seen, .question = question}, program);
    co_return seen.text();
}

std::string take(detail::PromiseBase& promise) {
    return static_cast<detail::TaskPromise<std::string>&>(promise).take();
}

} // namespace

std::string question_of(std::string_view input) {
    return std::string{input.substr(0, input.find('|'))};
}

Task<std::string> run_drawn(Context ctx, std::string input) {
    const auto question = question_of(input);
    Seen drawn;
    drawn.add(question);
    const auto depth = std::min(question.find_first_not_of('>'), question.size());
    const auto program = draw_program(drawn.digest, depth);
    auto answer = co_await run(ctx, &program, std::move(input));
    co_return question + "/" + answer;
}

std::shared_ptr<const OrchestrationHandler> handler_of(std::shared_ptr<const Node> program) {
    return std::make_shared<const OrchestrationHandler>(OrchestrationHandler{
        .name = "Program",
        .version = {1, 0, 0},
        .version_text = "1.0.0",
        .begin = [program = std::move(program)](Context ctx, std::string_view input) {
            return detail::RootTask{run(ctx, program.get(), std::string{input}), &take};
        }});
}

} // namespace durable::property
