// A store that threads wait in: for turns, for activities, for instances.

#pragma once

#include "unit/sqlite/sqlite_fixture.hpp"

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace durable::sqlite {

class SqliteWaitersTest : public SqliteTest {
 protected:
    void wait_for_sleepers(std::size_t number) const {
        while (store->sleepers() < number) {
            std::this_thread::yield();
        }
    }

    static TurnCommit end_of(const OrchestrationItem& turn, ExecutionStatus status) {
        auto event = started();
        event.instance_id = turn.instance;
        return {.lock_token = turn.lock_token,
                .metadata = {.status = status,
                             .orchestration_name = "Hello",
                             .orchestration_version = "1.0.0"},
                .history_delta = {event}};
    }

    // Calls in this order, for one transaction or two: while the connection is lent the first waits
    // for it, and the others for that one.
    template <class... Calls>
    void call_together(std::vector<std::jthread>& callers, Calls&&... calls) {
        const auto call = [&](auto&& what) {
            const auto before = store->calls();
            callers.emplace_back(what);
            while (store->calls() == before) {
                std::this_thread::yield();
            }
        };
        ASSERT_TRUE(store->inspect([&](Connection&) { (call(calls), ...); }));
    }

    std::shared_ptr<SqliteProvider> store;
};

} // namespace durable::sqlite
