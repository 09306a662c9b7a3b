// The in-memory provider keeps the whole contract, on a clock moved by hand. What it computes about
// real sleeping shows only on the machine's clock: those checks run there too, with short leases.

#include <durable/memory.hpp>
#include <durable/validation.hpp>
#include <durable/validation_gtest.hpp>

#include <chrono>
#include <memory>

namespace durable::validation {
namespace {

class RealTimeFactory final : public Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override { return memory::open(); }
    [[nodiscard]] Duration lock_timeout() const override { return std::chrono::milliseconds{200}; }
};

[[maybe_unused]] const bool all = register_with_gtest("Memory", memory_factory);
std::unique_ptr<Factory> real_time() {
    return std::make_unique<RealTimeFactory>();
}

[[maybe_unused]] const bool waiting =
    register_with_gtest("MemoryRealTime", real_time, "long_polling");
[[maybe_unused]] const bool waiting_with_code =
    register_with_gtest("MemoryRealTime", real_time, "code");
[[maybe_unused]] const bool waiting_for_suspects =
    register_with_gtest("MemoryRealTime", real_time, "suspects");

} // namespace
} // namespace durable::validation
