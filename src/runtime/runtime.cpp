#include "base/try.hpp"
#include "runtime/node.hpp"
#include "runtime/thread_runner.hpp"

#include <durable/runtime.hpp>

#include <stdexcept>
#include <system_error>
#include <utility>

namespace durable {

namespace {

Result<> check(const std::shared_ptr<Provider>& provider,
               const Registry& registry,
               const RuntimeOptions& options) {
    if (!provider) {
        return fail(ErrorCode::invalid_argument, "there is no provider", "Runtime::start");
    }
    return runtime::check(registry, options);
}

} // namespace

class Runtime::Core {
 public:
    explicit Core(std::shared_ptr<runtime::ThreadRunner> with) : runner{std::move(with)} {}

    std::shared_ptr<runtime::ThreadRunner> runner;
};

Runtime::Runtime(std::shared_ptr<Core> core) noexcept : core_{std::move(core)} {}

Runtime::Runtime(Runtime&& other) noexcept = default;

Runtime& Runtime::operator=(Runtime&& other) noexcept {
    if (this != &other) {
        Runtime ended{std::move(*this)}; // shuts down at the end of this scope
        core_ = std::move(other.core_);
    }
    return *this;
}

Runtime::~Runtime() {
    if (core_) {
        core_->runner->shutdown(core_->runner->node().options.shutdown_timeout);
    }
}

Result<Runtime>
Runtime::try_start(std::shared_ptr<Provider> provider, Registry registry, RuntimeOptions options) {
    DURABLE_TRY(check(provider, registry, options));
    auto runner = std::make_shared<runtime::ThreadRunner>(std::make_unique<runtime::Node>(
        std::move(provider), std::move(registry), std::move(options)));
    Runtime started{std::make_shared<Core>(runner)};
    try {
        runner->start();
    } catch (const std::system_error& error) {
        return fail(ErrorCode::unavailable,
                    std::string{"cannot start a thread: "} + error.what(),
                    "Runtime::start");
    }
    const auto& node = runner->node();
    const auto& supported = node.capabilities.supported.front();
    node.observer.log(LogLevel::info,
                      {},
                      "runtime started",
                      {{.name = "runtime", .value = node.id},
                       {.name = "version", .value = engine_version_text()},
                       {.name = "provider", .value = node.client_provider->name()},
                       {.name = "replays_from", .value = supported.min.text()},
                       {.name = "replays_to", .value = supported.max.text()}});
    return started;
}

Runtime
Runtime::start(std::shared_ptr<Provider> provider, Registry registry, RuntimeOptions options) {
    auto started = try_start(std::move(provider), std::move(registry), std::move(options));
    if (!started) {
        throw std::invalid_argument{started.error().message};
    }
    return *std::move(started);
}

Runtime::Core& Runtime::core() const {
    if (!core_) {
        throw std::logic_error{"this Runtime was moved from: it runs nothing"};
    }
    return *core_;
}

ShutdownReport Runtime::shutdown(Timespan timeout) {
    return core().runner->shutdown(timeout);
}

std::vector<ParkedInstance> Runtime::parked() const {
    const auto& node = core().runner->node();
    return node.parked.list(node.clock->now());
}

const std::string& Runtime::id() const {
    return core().runner->node().id;
}

} // namespace durable
