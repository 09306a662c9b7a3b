// The calls of the management half, and closing the store under test.

#include "validation/model/player.hpp"
#include "validation/model/turns.hpp"

#include <utility>

namespace durable::validation {

namespace {

InstanceFilter draw_filter(Dice& dice, Instant now) {
    InstanceFilter filter;
    if (dice.one_in(2)) {
        filter.instance_ids = std::vector{draw_instance(dice), draw_instance(dice)};
    }
    if (dice.one_in(2)) {
        filter.completed_before = now - draw_duration(dice);
    }
    return filter;
}

PruneOptions draw_prune(Dice& dice, Instant now) {
    PruneOptions options;
    if (dice.one_in(2)) {
        options.keep_last = static_cast<std::uint32_t>(dice.below(4));
    }
    if (dice.one_in(3)) {
        options.completed_before = now - draw_duration(dice);
    }
    return options;
}

} // namespace

Player::Answers Player::remove(Dice& dice) {
    const auto& instance = draw_instance(dice);
    const bool force = dice.one_in(2);
    say("delete '" + instance + "'" + (force ? " with force" : ""));
    return both([&](Provider& store) {
        return store.as_management_capability()->delete_instance(instance, force);
    });
}

Player::Answers Player::remove_exactly(Dice& dice) {
    const std::vector ids{draw_instance(dice), draw_instance(dice)};
    const bool force = dice.one_in(2);
    say("delete exactly '" + ids[0] + "' and '" + ids[1] + "'" + (force ? " with force" : ""));
    return both([&](Provider& store) {
        return store.as_management_capability()->delete_instances_atomic(ids, force);
    });
}

Player::Answers Player::remove_bulk(Dice& dice) {
    const auto filter = draw_filter(dice, clock_.now());
    say("delete in bulk");
    return both([&](Provider& store) {
        return store.as_management_capability()->delete_instance_bulk(filter);
    });
}

Player::Answers Player::prune(Dice& dice) {
    const auto& instance = draw_instance(dice);
    const auto options = draw_prune(dice, clock_.now());
    say("prune '" + instance + "'");
    return both([&](Provider& store) {
        return store.as_management_capability()->prune_executions(instance, options);
    });
}

Player::Answers Player::prune_bulk(Dice& dice) {
    const auto filter = draw_filter(dice, clock_.now());
    const auto options = draw_prune(dice, clock_.now());
    say("prune in bulk");
    return both([&](Provider& store) {
        return store.as_management_capability()->prune_executions_bulk(filter, options);
    });
}

Player::Answers Player::reopen() {
    say("reopen");
    may_be_careful_ = false;
    subject_.reset();
    auto reopened = factory_.reopen();
    if (!reopened) {
        return {.oracle = "reopened", .subject = describe(reopened.error())};
    }
    subject_ = *std::move(reopened);
    return {};
}

} // namespace durable::validation
