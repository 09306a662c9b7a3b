// A ledger driven by hand: every call decides, keeps the record and applies it. When a test ends,
// the kept records are applied to an empty ledger, which must come out equal.

#pragma once

#include "base/random.hpp"
#include "providers/ledger/activities.hpp"
#include "providers/ledger/image.hpp"
#include "providers/ledger/ledger.hpp"
#include "providers/ledger/management.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"
#include "providers/ledger/turns.hpp"

#include <durable/provider.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::ledger {

using namespace std::chrono_literals;

// Decisions as the provider calls them, after its own preparation.
inline Result<Record>
enqueue_message(Ledger& ledger, const WorkItem& item, std::optional<Duration> delay, Moment now) {
    return enqueue_message(ledger, item, to_message(item), delay, now);
}
inline Result<Record> enqueue_work(Ledger& ledger, const WorkItem& item, Moment now) {
    return enqueue_work(ledger, to_work(item), now);
}
inline Result<Record> append_events(Ledger& ledger,
                                    const std::string& instance,
                                    std::uint64_t execution_id,
                                    const std::vector<HistoryEvent>& events,
                                    Moment now) {
    return append_events(ledger, instance, execution_id, to_events(events), now);
}
inline Result<Record> commit_turn(Ledger& ledger, const TurnCommit& commit, Moment now) {
    return commit_turn(ledger, commit, prepare_turn(commit), now);
}
inline Result<Record> finish_work(Ledger& ledger,
                                  const std::string& lock_token,
                                  const std::optional<WorkItem>& completion,
                                  Moment now) {
    return finish_work(ledger, lock_token, to_completion(completion), now);
}
inline Result<Record>
finish_work(Ledger& ledger, const std::string& lock_token, std::nullopt_t, Moment now) {
    return finish_work(ledger, lock_token, Result<std::optional<NewMessage>>{std::nullopt}, now);
}

// The whole durable state, comparable.
struct StateImage {
    std::map<std::string, InstanceImage> instances;
    RestImage rest;
    Totals totals;
    bool operator==(const StateImage&) const = default;
};

[[nodiscard]] inline StateImage state_image(const Ledger& ledger) {
    StateImage image{.rest = ledger.rest(), .totals = ledger.totals()};
    ledger.instances.for_each([&](const Instance& instance) {
        image.instances.emplace(instance.id(), image_of(instance));
    });
    return image;
}

inline WorkItem start_item(const std::string& instance) {
    return work::StartOrchestration{.instance = instance, .orchestration = "Order", .input = "{}"};
}
inline WorkItem raised_item(const std::string& instance, const std::string& data = "") {
    return work::ExternalRaised{.instance = instance, .name = "approved", .data = data};
}
inline WorkItem activity_item(const std::string& instance,
                              std::uint64_t id,
                              std::optional<std::string> session = std::nullopt,
                              std::optional<std::string> tag = std::nullopt) {
    return work::ActivityExecute{.instance = instance,
                                 .execution_id = 1,
                                 .id = id,
                                 .name = "Charge",
                                 .input = "{}",
                                 .session_id = std::move(session),
                                 .tag = std::move(tag)};
}
inline WorkItem timer_item(const std::string& instance, std::uint64_t id, std::uint64_t fire_at) {
    return work::TimerFired{
        .instance = instance, .execution_id = 1, .id = id, .fire_at_ms = fire_at};
}
inline HistoryEvent event(std::uint64_t id, history::Kind kind = history::PatchMarked{"p"}) {
    return {.event_id = id, .engine_version = "0.1.0", .kind = std::move(kind)};
}
inline HistoryEvent started_event(std::uint64_t id = 1) {
    return event(id, history::OrchestrationStarted{.name = "Order", .version = "1.0.0"});
}

class LedgerTest : public ::testing::Test {
 protected:
    void TearDown() override {
        if (!replayable) {
            return;
        }
        Ledger replayed{ledger.options()};
        for (const auto& record : records) {
            replayed.apply(record);
            replayed.check();
        }
        EXPECT_TRUE(state_image(replayed) == state_image(ledger)) << "replay gives another state";
    }

    void apply(Record record) {
        records.push_back(record);
        ledger.apply(std::move(record));
        ledger.check();
    }
    // The error code of a refused call; nullopt when the call was carried out.
    std::optional<ErrorCode> carry_out(Result<Record> record) {
        if (!record) {
            return record.error().code;
        }
        apply(*std::move(record));
        return std::nullopt;
    }

    void pass(Duration time) {
        now.wall += time;
        now.steady += time;
    }

    std::optional<ErrorCode> send(const WorkItem& item,
                                  std::optional<Duration> delay = std::nullopt) {
        return carry_out(enqueue_message(ledger, item, delay, now));
    }
    std::optional<ErrorCode> start(const std::string& instance,
                                   std::optional<Duration> delay = std::nullopt) {
        const auto item = std::get<work::StartOrchestration>(start_item(instance));
        return carry_out(start_instance(ledger, item, to_message(item), delay, now));
    }
    std::optional<ErrorCode> queue_work(const WorkItem& item) {
        return carry_out(enqueue_work(ledger, item, now));
    }

    std::optional<OrchestrationItem> fetch(const FetchOrchestration& request) {
        for (;;) {
            auto offer = offer_turn(ledger, request, now);
            if (!offer) {
                return std::nullopt;
            }
            apply(std::move(offer->record));
            if (offer->item) {
                take_turn(
                    ledger, *offer, token(), add_saturating(now.steady, request.lock_timeout));
                return complete(*std::move(offer));
            }
        }
    }
    std::optional<OrchestrationItem> fetch(Duration lock_timeout = 30s) {
        return fetch(FetchOrchestration{.lock_timeout = lock_timeout});
    }
    // The instance that a fetch gives, "" for none.
    std::string fetched(Duration lock_timeout = 30s) {
        const auto item = fetch(lock_timeout);
        return item ? item->instance : "";
    }

    std::optional<durable::WorkLease> fetch_work(const durable::FetchWork& request) {
        for (;;) {
            auto offer = offer_work(ledger, request, now);
            if (!offer) {
                return std::nullopt;
            }
            apply(std::move(offer->record));
            if (offer->lease) {
                take_work(ledger, *offer, request, token(), now);
                return std::move(offer->lease);
            }
        }
    }
    // The id of the activity that a fetch gives, 0 for none.
    std::uint64_t fetched_work(const durable::FetchWork& request = {.lock_timeout = 30s}) {
        const auto lease = fetch_work(request);
        return lease ? lease->item.id : 0;
    }

    std::optional<ErrorCode> commit(TurnCommit commit) {
        return carry_out(commit_turn(ledger, commit, now));
    }
    // A commit that creates the instance's row.
    std::optional<ErrorCode> commit_named(TurnCommit turn) {
        turn.metadata.orchestration_name = "Order";
        turn.metadata.orchestration_version = "1.0.0";
        return commit(std::move(turn));
    }
    // Starts an instance and ends its first turn.
    void run_first_turn(const std::string& instance) {
        ASSERT_FALSE(send(start_item(instance)));
        const auto item = fetch();
        ASSERT_TRUE(item);
        ASSERT_EQ(item->instance, instance);
        ASSERT_FALSE(
            commit_named({.lock_token = item->lock_token, .history_delta = {started_event()}}));
    }
    std::size_t expire() {
        std::size_t rounds = 0;
        while (auto record = expire_messages(ledger, now)) {
            apply(*std::move(record));
            ++rounds;
        }
        return rounds;
    }

    Token token() { return {.high = random.next(), .low = random.next()}; }

    Ledger ledger;
    std::vector<Record> records;
    Moment now{.wall = from_epoch_ms(1'760'000'000'000), .steady = SteadyInstant{1h}};
    SeededRandom random{7};
    bool replayable = true;
};

} // namespace durable::ledger
