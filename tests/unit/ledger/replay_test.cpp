// Random lives of a ledger: whatever was done, the records alone give the same state, and so do the
// images taken anywhere on the way.

#include "providers/ledger/handover.hpp"
#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class RandomLife : public LedgerTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
    RandomLife() : dice{GetParam()} {}

    std::uint64_t roll(std::uint64_t sides) { return dice.next() % sides; }
    std::string instance() { return "i-" + std::to_string(roll(6)); }
    std::optional<std::string> sometimes(const std::string& text) {
        return roll(3) == 0 ? std::optional{text + std::to_string(roll(2))} : std::nullopt;
    }
    WorkItem message() {
        switch (roll(6)) {
        case 0: {
            auto start = std::get<work::StartOrchestration>(start_item(instance()));
            if (roll(2) == 0) {
                start.parent_instance = instance();
            }
            return start;
        }
        case 1:
            return timer_item(instance(), roll(5), to_epoch_ms(now.wall) + roll(20'000));
        case 2:
            return work::ContinueAsNew{.instance = instance(), .orchestration = "Order"};
        case 3:
            return work::CancelInstance{.instance = instance(), .reason = "enough"};
        default:
            return raised_item(instance(), std::to_string(roll(100)));
        }
    }
    history::Kind change() {
        switch (roll(6)) {
        case 0:
            return history::KeyValueSet{"k" + std::to_string(roll(3)), "v", 1};
        case 1:
            return history::KeyValueCleared{"k" + std::to_string(roll(3))};
        case 2:
            return history::KeyValuesCleared{};
        case 3:
            return history::CustomStatusUpdated{sometimes("status")};
        default:
            return history::PatchMarked{"p"};
        }
    }
    TurnCommit random_commit(const OrchestrationItem& item) {
        TurnCommit commit{.lock_token = item.lock_token,
                          .execution_id = item.execution_id + (roll(4) == 0 ? 1 : 0)};
        const auto first = item.history.empty() ? 1 : item.history.back().event_id + 1;
        for (std::uint64_t i = 0; i < roll(4); ++i) {
            commit.history_delta.push_back(event(first + i + roll(2), change()));
        }
        if (roll(2) == 0) {
            commit.metadata.orchestration_name = "Order";
            commit.metadata.orchestration_version = "1.0.0";
            commit.metadata.parent_instance_id = sometimes("i-");
        }
        if (roll(2) == 0) {
            commit.metadata.status = static_cast<ExecutionStatus>(roll(4));
            commit.metadata.output = sometimes("output");
        }
        if (roll(3) == 0) {
            commit.metadata.pinned_version = Version{1, roll(3), 0};
        }
        for (std::uint64_t i = 0; i < roll(3); ++i) {
            commit.worker_items.push_back(
                activity_item(item.instance, roll(5), sometimes("s"), sometimes("t")));
            commit.orchestrator_items.push_back(message());
            commit.cancelled_activities.push_back({item.instance, 1, roll(5)});
            commit.cancelled_timers.push_back(roll(5));
        }
        return commit;
    }

    void turn() {
        auto item = fetch(FetchOrchestration{
            .lock_timeout = Duration{roll(5000)},
            .filter = roll(2) == 0 ? std::nullopt
                                   : std::optional{CapabilityFilter{{{{1, 0, 0}, {1, 1, 0}}}}},
            .one_suspect = roll(2) == 0});
        if (item) {
            turns.push_back(*std::move(item));
        }
    }
    void activity() {
        durable::FetchWork request{.lock_timeout = Duration{roll(5000)},
                                   .tags = TagFilter::any(),
                                   .one_suspect = roll(2) == 0};
        if (roll(2) == 0) {
            request.session = SessionClaim{"w" + std::to_string(roll(2)), Duration{roll(5000)}};
        }
        if (const auto lease = fetch_work(request)) {
            leases.push_back(lease->lock_token);
        }
    }
    void end_turn() {
        if (turns.empty()) {
            return;
        }
        const auto item = std::move(turns.back());
        turns.pop_back();
        if (roll(4) == 0) {
            carry_out(abandon_turn(ledger,
                                   {.lock_token = item.lock_token,
                                    .delay = Duration{roll(3000)},
                                    .ignore_attempt = roll(2) == 0,
                                    .whole_instance = roll(2) == 0,
                                    .parked = sometimes("reason")},
                                   now));
        } else {
            commit(random_commit(item));
        }
    }
    void end_activity() {
        if (leases.empty()) {
            return;
        }
        const auto lock_token = leases.back();
        leases.pop_back();
        if (roll(4) == 0) {
            carry_out(abandon_work(ledger, lock_token, Duration{roll(3000)}, roll(2) == 0, now));
            return;
        }
        const WorkItem completion = work::ActivityCompleted{.instance = instance(), .id = roll(5)};
        carry_out(finish_work(
            ledger, lock_token, roll(3) == 0 ? std::nullopt : std::optional{completion}, now));
    }
    void manage() {
        switch (roll(4)) {
        case 0:
            if (auto deletion = delete_instances(ledger, {instance(), instance()}, true, now)) {
                apply(std::move(deletion->record));
            }
            break;
        case 1:
            if (auto pruning = prune(ledger, instance(), {.keep_last = 1}, now)) {
                apply(std::move(pruning->record));
            }
            break;
        case 2:
            apply(restore_message(ledger, instance(), "damaged", now));
            break;
        default:
            carry_out(append_events(ledger, instance(), 1 + roll(3), {event(50 + roll(99))}, now));
        }
    }
    void step() {
        switch (roll(12)) {
        case 0:
        case 1:
        case 2:
            send(message(), roll(3) == 0 ? std::optional{Duration{roll(10'000)}} : std::nullopt);
            if (roll(3) == 0) {
                start(instance(),
                      roll(2) == 0 ? std::optional{Duration{roll(5000)}} : std::nullopt);
            }
            break;
        case 3:
            queue_work(activity_item(instance(), roll(5), sometimes("s"), sometimes("t")));
            break;
        case 4:
        case 5:
            turn();
            break;
        case 6:
            activity();
            break;
        case 7:
        case 8:
            end_turn();
            break;
        case 9:
            end_activity();
            break;
        case 10:
            manage();
            break;
        default:
            pass(Duration{roll(roll(50) == 0 ? 5'000'000 : 3000)});
            expire();
        }
    }
    void compare_with_images() {
        Ledger restored{ledger.options()};
        restored.restore(ledger.rest());
        ledger.instances.for_each(
            [&](const Instance& known) { restored.restore(image_of(known), now.wall); });
        take_over(restored, hand_over(ledger, now), 0s, now);
        ASSERT_TRUE(state_image(restored) == state_image(ledger));
        ASSERT_EQ(hand_over(restored, now), hand_over(ledger, now));
        ASSERT_EQ(queue_depths(restored, now).orchestrator_queue,
                  queue_depths(ledger, now).orchestrator_queue);
        ASSERT_EQ(queue_depths(restored, now).worker_queue, queue_depths(ledger, now).worker_queue);
    }

    SeededRandom dice;
    std::vector<OrchestrationItem> turns;
    std::vector<std::string> leases;
};

TEST_P(RandomLife, IsRepeatedByItsRecordsAndByItsImages) {
    for (int i = 0; i < 2000; ++i) {
        step();
        if (i % 250 == 0) {
            compare_with_images();
        }
    }
    compare_with_images();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLife, ::testing::Range<std::uint64_t>(1, 13));

} // namespace
} // namespace durable::ledger
