#include "providers/memory/memory_provider.hpp"

#include <durable/memory.hpp>
#include <durable/validation.hpp>

namespace durable::validation {

namespace {

class MemoryFactory final : public Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override {
        latest_ = std::make_shared<memory::MemoryProvider>(memory::Options{.clock = clock_});
        return latest_;
    }
    ManualClock* clock() override { return clock_.get(); }

    Result<> corrupt_history(const std::string& instance) override {
        return latest_->corrupt_history(instance);
    }
    Result<> corrupt_event(const std::string& instance,
                           std::uint64_t execution_id,
                           std::uint64_t event_id) override {
        return latest_->corrupt_event(instance, execution_id, event_id);
    }
    Result<> inject_orchestrator_row(const std::string& instance,
                                     const std::string& text) override {
        return latest_->inject_orchestrator_row(instance, text);
    }
    Result<> inject_worker_row(const std::string& text) override {
        return latest_->inject_worker_row(text);
    }
    Result<std::uint32_t> max_attempt_count(const std::string& instance) override {
        return latest_->max_attempt_count(instance);
    }

 private:
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::shared_ptr<memory::MemoryProvider> latest_;
};

} // namespace

std::unique_ptr<Factory> memory_factory() {
    return std::make_unique<MemoryFactory>();
}

} // namespace durable::validation
