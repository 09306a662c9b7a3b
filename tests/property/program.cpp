#include "property/program.hpp"

#include "validation/model/script.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace durable::property {

namespace {

using validation::Dice;
using enum Verb;

constexpr std::size_t verbs = static_cast<std::size_t>(beside) + 1;
constexpr std::array<std::string_view, verbs> names{
    "call",     "retry",      "wait",         "dequeue",    "child",    "sleep",
    "other_kv", "detached",   "kv_set",       "kv_get",     "kv_clear", "kv_clear_all",
    "kv_prune", "status",     "clear_status", "identity",   "log",      "undo",
    "fail",     "drop",       "restart",      "sequence",   "loop",     "attempt",
    "choose",   "patched",    "all",          "settled",    "race",     "within",
    "all_ops",  "settle_ops", "race_ops",     "race_named", "ahead",    "beside"};

constexpr std::array steps{call, call, call, retry, wait, dequeue, child};
constexpr std::array leaves{
    call,   call,         call,     retry,  retry,  wait,   dequeue,  child,        sleep,
    sleep,  read_other,   detached, kv_set, kv_set, kv_get, kv_clear, kv_clear_all, kv_prune,
    status, clear_status, identity, log,    undo,   fail,   drop,     restart};
constexpr std::array branches{sequence,
                              loop,
                              attempt,
                              attempt,
                              choose,
                              patched,
                              all,
                              settled,
                              race,
                              race,
                              within,
                              within,
                              all_steps,
                              settled_steps,
                              race_steps,
                              race_named,
                              ahead,
                              beside};

Node draw(Dice& dice, std::size_t& budget, int depth);

Node draw_verb(Dice& dice, Verb verb) {
    return {.verb = verb,
            .a = static_cast<unsigned>(dice.below(4)),
            .b = static_cast<unsigned>(dice.below(8)),
            .children = {}};
}

void add_children(Dice& dice, Node& node, std::size_t count, std::size_t& budget, int depth) {
    for (std::size_t i = 0; i < count; ++i) {
        node.children.push_back(draw(dice, budget, depth + 1));
    }
}

Node draw_branch(Dice& dice, std::size_t& budget, int depth) {
    auto node = draw_verb(dice, dice.pick(branches));
    switch (node.verb) {
    case all_steps:
    case settled_steps:
    case race_steps:
    case race_named:
        for (auto left = 1 + dice.below(3); left > 0; --left) {
            node.children.push_back(draw_verb(dice, dice.pick(steps)));
        }
        break;
    case ahead:
        node.children.push_back(draw_verb(dice, dice.pick(steps)));
        add_children(dice, node, 1, budget, depth);
        break;
    case loop:
    case attempt:
    case within:
        add_children(dice, node, 1, budget, depth);
        break;
    case choose:
    case patched:
    case beside:
        add_children(dice, node, 2, budget, depth);
        break;
    default:
        add_children(dice, node, 1 + dice.below(3), budget, depth);
    }
    return node;
}

Node draw(Dice& dice, std::size_t& budget, int depth) {
    if (budget == 0 || depth > 4 || dice.one_in(2)) {
        budget -= budget > 0 ? 1U : 0U;
        auto node = draw_verb(dice, dice.pick(leaves));
        // An end cuts off what follows: mostly something else.
        const bool ends = node.verb == fail || node.verb == restart;
        return ends && !dice.one_in(3) ? draw_verb(dice, call) : node;
    }
    --budget;
    return draw_branch(dice, budget, depth);
}

// Every program that is one reduction smaller: a node without one of its children, a child in the
// place of its parent.
std::vector<Node> smaller(const Node& node) {
    std::vector<Node> found;
    const bool fixed = node.verb != sequence && node.verb != all && node.verb != settled &&
                       node.verb != race && node.verb != all_steps && node.verb != settled_steps &&
                       node.verb != race_steps;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        found.push_back(node.children[i]);
        if (!fixed && node.children.size() > 1) {
            auto without = node;
            without.children.erase(without.children.begin() + static_cast<std::ptrdiff_t>(i));
            found.push_back(std::move(without));
        }
    }
    const bool of_steps = node.verb >= all_steps && node.verb <= race_named;
    for (std::size_t i = 0; i < node.children.size() && !of_steps; ++i) {
        if (node.verb == ahead && i == 0) {
            continue;
        }
        for (auto& child : smaller(node.children[i])) {
            auto with = node;
            with.children[i] = std::move(child);
            found.push_back(std::move(with));
        }
    }
    return found;
}

void without_children(Node& node) {
    if (node.verb == child || node.verb == detached) {
        node.verb = call;
    } else if (node.verb == drop) {
        node.b = 0; // a call
    }
    for (auto& each : node.children) {
        without_children(each);
    }
}

} // namespace

Node draw_program(std::uint64_t seed, std::size_t depth) {
    Dice dice{seed};
    std::size_t budget = depth == 0 ? 2 + dice.below(12) : 1 + dice.below(4);
    Node root{.verb = sequence, .a = 0, .b = 0, .children = {}};
    do {
        root.children.push_back(draw(dice, budget, 0));
    } while (budget > 0);
    if (depth > 1) {
        without_children(root);
    }
    return root;
}

std::string to_text(const Node& node) {
    auto text = std::string{names[static_cast<std::size_t>(node.verb)]};
    if (node.verb != sequence) {
        text += ":" + std::to_string(node.a) + ":" + std::to_string(node.b);
    }
    if (node.children.empty()) {
        return text;
    }
    std::string inside;
    for (const auto& child : node.children) {
        inside += (inside.empty() ? "" : " ") + to_text(child);
    }
    return text + "(" + inside + ")";
}

Node shrink(Node program, const std::function<bool(const Node&)>& fails) {
    bool shrunk = true;
    for (int tries = 0; shrunk && tries < 2'000;) {
        shrunk = false;
        for (auto& candidate : smaller(program)) {
            ++tries;
            if (fails(candidate)) {
                program = std::move(candidate);
                shrunk = true;
                break;
            }
        }
    }
    return program;
}

} // namespace durable::property
