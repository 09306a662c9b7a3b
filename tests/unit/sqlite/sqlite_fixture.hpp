// A store in a file of its own, and SQLite's C interface to look at that file from outside.

#pragma once

#include "providers/sqlite/sqlite_provider.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/testing.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace durable::sqlite {

// Another program that has the file open.
class Outsider {
 public:
    explicit Outsider(const std::string& path) {
        EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
        sqlite3_busy_timeout(db_, 5000);
    }
    Outsider(const Outsider&) = delete;
    Outsider& operator=(const Outsider&) = delete;
    ~Outsider() { sqlite3_close(db_); }

    // Every row with its columns joined by '|'.
    std::vector<std::string> query(const std::string& sql) {
        std::vector<std::string> rows;
        const auto add = [](void* into, int columns, char** values, char**) {
            std::string row;
            for (int column = 0; column < columns; ++column) {
                row += (column == 0 ? "" : "|");
                row += values[column] == nullptr ? "NULL" : values[column];
            }
            static_cast<std::vector<std::string>*>(into)->push_back(row);
            return 0;
        };
        char* problem = nullptr;
        EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), add, &rows, &problem), SQLITE_OK)
            << sql << ": " << (problem == nullptr ? "" : problem);
        sqlite3_free(problem);
        return rows;
    }

 private:
    sqlite3* db_ = nullptr;
};

class SqliteTest : public ::testing::Test {
 protected:
    std::shared_ptr<SqliteProvider> open(Options options = {}, Machine machine = {}) {
        auto opened = try_open(std::move(options), std::move(machine));
        EXPECT_TRUE(opened) << opened.error().text();
        return opened.value_or(nullptr);
    }
    Result<std::shared_ptr<SqliteProvider>> try_open(Options options = {}, Machine machine = {}) {
        options.synchronous = Synchronous::normal;
        if (!options.clock) {
            options.clock = clock;
        }
        return SqliteProvider::open(path, std::move(options), std::move(machine));
    }

    static WorkItem start(const std::string& instance) {
        return work::StartOrchestration{
            .instance = instance, .orchestration = "Hello", .input = "{}", .execution_id = 1};
    }
    static WorkItem activity(const std::string& instance, std::uint64_t id) {
        return work::ActivityExecute{
            .instance = instance, .execution_id = 1, .id = id, .name = "Greet", .input = "{}"};
    }
    static HistoryEvent started() {
        return {.event_id = 1,
                .kind = history::OrchestrationStarted{
                    .name = "Hello", .version = "1.0.0", .input = "{}"}};
    }
    // An instance whose first turn is over.
    static void make_running(Provider& store, const std::string& instance) {
        ASSERT_TRUE(store.enqueue_for_orchestrator(start(instance), std::nullopt));
        const auto turn = store.fetch_orchestration_item({.lock_timeout = Duration{1000}});
        ASSERT_TRUE(turn && *turn);
        ASSERT_TRUE(store.ack_orchestration_item({.lock_token = (*turn)->lock_token,
                                                  .metadata = {.status = ExecutionStatus::running,
                                                               .orchestration_name = "Hello",
                                                               .orchestration_version = "1.0.0"},
                                                  .history_delta = {started()}}));
    }

    TemporaryDirectory directory;
    std::string path = directory.path() + "/store.db";
    std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
};

} // namespace durable::sqlite
