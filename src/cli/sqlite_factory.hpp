// Stores of the SQLite provider for the validation kit, with every hook.

#pragma once

#include "providers/sqlite/sqlite_provider.hpp"

#include <durable/sqlite.hpp>
#include <durable/testing.hpp>
#include <durable/validation.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace durable::cli {

class SqliteFactory final : public validation::Factory {
 public:
    // Every store gets a file of its own, named after `path`. The factory removes those of closed
    // stores when it makes the next one, and all at its end. The path ":memory:" makes stores
    // without a file.
    explicit SqliteFactory(std::string path, sqlite::Options options = {});
    ~SqliteFactory() override;

    Result<std::shared_ptr<Provider>> create() override;
    ManualClock* clock() override { return clock_.get(); }
    Result<std::shared_ptr<Provider>> reopen() override;
    [[nodiscard]] bool leases_survive_reopen() const override { return true; }

    Result<> corrupt_history(const std::string& instance) override;
    Result<> corrupt_event(const std::string& instance,
                           std::uint64_t execution_id,
                           std::uint64_t event_id) override;
    Result<> inject_orchestrator_row(const std::string& instance, const std::string& text) override;
    Result<> inject_worker_row(const std::string& text) override;
    Result<std::uint32_t> max_attempt_count(const std::string& instance) override;

 private:
    [[nodiscard]] bool in_memory() const { return path_ == ":memory:"; }
    [[nodiscard]] std::string file(std::uint64_t number) const;
    void remove(std::uint64_t number) const;
    [[nodiscard]] Result<std::shared_ptr<Provider>> open_latest();
    [[nodiscard]] Result<std::shared_ptr<sqlite::SqliteProvider>> latest() const;

    const std::string path_;
    const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    sqlite::Options options_;
    std::uint64_t made_ = 0;
    std::map<std::uint64_t, std::weak_ptr<sqlite::SqliteProvider>> stores_;
    std::weak_ptr<sqlite::SqliteProvider>
        latest_; // weak: the check that holds a store can close it
};

} // namespace durable::cli
