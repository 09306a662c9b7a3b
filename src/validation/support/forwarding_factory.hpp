// A factory that passes every hook on: a base class for decorators of another factory's stores.

#pragma once

#include <durable/validation.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace durable::validation {

// `inner` must outlive it.
class ForwardingFactory : public Factory {
 public:
    explicit ForwardingFactory(Factory& inner) : inner_{inner} {}

    [[nodiscard]] Result<std::shared_ptr<Provider>> create() override { return inner_.create(); }
    [[nodiscard]] ManualClock* clock() override { return inner_.clock(); }
    [[nodiscard]] Duration lock_timeout() const override { return inner_.lock_timeout(); }
    [[nodiscard]] Duration unstarted_message_ttl() const override {
        return inner_.unstarted_message_ttl();
    }
    [[nodiscard]] bool long_polling() const override { return inner_.long_polling(); }
    [[nodiscard]] Duration short_poll_threshold() const override {
        return inner_.short_poll_threshold();
    }
    [[nodiscard]] Result<std::shared_ptr<Provider>> reopen() override { return inner_.reopen(); }
    [[nodiscard]] bool leases_survive_reopen() const override {
        return inner_.leases_survive_reopen();
    }
    [[nodiscard]] Result<> corrupt_history(const std::string& instance) override {
        return inner_.corrupt_history(instance);
    }
    [[nodiscard]] Result<> corrupt_event(const std::string& instance,
                                         std::uint64_t execution_id,
                                         std::uint64_t event_id) override {
        return inner_.corrupt_event(instance, execution_id, event_id);
    }
    [[nodiscard]] Result<> inject_orchestrator_row(const std::string& instance,
                                                   const std::string& text) override {
        return inner_.inject_orchestrator_row(instance, text);
    }
    [[nodiscard]] Result<> inject_worker_row(const std::string& text) override {
        return inner_.inject_worker_row(text);
    }
    [[nodiscard]] Result<std::uint32_t> max_attempt_count(const std::string& instance) override {
        return inner_.max_attempt_count(instance);
    }

 protected:
    [[nodiscard]] Factory& inner() const noexcept { return inner_; }

 private:
    Factory& inner_;
};

} // namespace durable::validation
