#include "validation/model/script.hpp"

namespace durable::validation {

namespace {

struct Weight {
    Verb verb;
    std::size_t weight;
};

// Operations that move instances forward are frequent, so that states get deep; removals are rare,
// so that these states survive.
constexpr std::array weights = {
    Weight{.verb = Verb::send, .weight = 24},
    Weight{.verb = Verb::start, .weight = 6},
    Weight{.verb = Verb::enqueue_activity, .weight = 6},
    Weight{.verb = Verb::fetch_turn, .weight = 22},
    Weight{.verb = Verb::commit_turn, .weight = 22},
    Weight{.verb = Verb::abandon_turn, .weight = 8},
    Weight{.verb = Verb::renew_turn, .weight = 2},
    Weight{.verb = Verb::fetch_work, .weight = 14},
    Weight{.verb = Verb::finish_work, .weight = 8},
    Weight{.verb = Verb::abandon_work, .weight = 4},
    Weight{.verb = Verb::renew_work, .weight = 2},
    Weight{.verb = Verb::renew_sessions, .weight = 2},
    Weight{.verb = Verb::cleanup_sessions, .weight = 1},
    Weight{.verb = Verb::append, .weight = 1},
    Weight{.verb = Verb::pass_time, .weight = 14},
    Weight{.verb = Verb::remove, .weight = 1},
    Weight{.verb = Verb::remove_exactly, .weight = 1},
    Weight{.verb = Verb::remove_bulk, .weight = 1},
    Weight{.verb = Verb::prune, .weight = 1},
    Weight{.verb = Verb::prune_bulk, .weight = 1},
};

constexpr std::size_t total_weight() {
    std::size_t total = 0;
    for (const auto& each : weights) {
        total += each.weight;
    }
    return total;
}

Verb draw(Dice& dice) {
    auto left = dice.below(total_weight());
    for (const auto& each : weights) {
        if (left < each.weight) {
            return each.verb;
        }
        left -= each.weight;
    }
    return Verb::pass_time;
}

} // namespace

std::vector<Operation> make_script(std::uint64_t seed, std::size_t operations, bool reopen) {
    Dice dice{seed};
    std::vector<Operation> script;
    script.reserve(operations);
    for (std::size_t i = 0; i < operations; ++i) {
        const auto verb = reopen && dice.one_in(10) ? Verb::reopen : draw(dice);
        script.push_back({.verb = verb, .dice = dice.number()});
    }
    return script;
}

} // namespace durable::validation
