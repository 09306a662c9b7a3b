// Stores of the filesystem provider for the validation kit, with every hook.

#pragma once

#include "providers/fs/fs_provider.hpp"

#include <durable/fs.hpp>
#include <durable/testing.hpp>
#include <durable/validation.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace durable::cli {

class FsFactory final : public validation::Factory {
 public:
    // Every store gets a directory of its own below `directory`. The factory removes those of
    // closed stores when it makes the next one, and all at its end.
    explicit FsFactory(std::string directory, fs::Machine machine = {});
    ~FsFactory() override;

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
    [[nodiscard]] std::string path(std::uint64_t number) const;
    void remove(std::uint64_t number) const;
    [[nodiscard]] Result<std::shared_ptr<fs::FsProvider>> latest() const;

    const std::string directory_;
    const fs::Machine machine_;
    const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::uint64_t made_ = 0;
    std::map<std::uint64_t, std::weak_ptr<fs::FsProvider>> stores_;
    std::weak_ptr<fs::FsProvider> latest_; // weak: the check that holds a store can close it
};

} // namespace durable::cli
