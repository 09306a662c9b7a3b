// The provider contract as runnable checks, for authors of providers.
//
//     for (const auto& check : durable::validation::checks()) {
//         const auto verdict = durable::validation::run(check, my_store);
//     }
//
// validation_gtest.hpp turns the same list into GoogleTest cases; `durable validate <store-url>`
// runs it from the shell. Nothing here depends on a test framework.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/testing.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace durable::validation {

// A place where checks get their stores from. The hooks reach around the provider's interface, so
// that damage can be tested; a factory that cannot offer one says unsupported, and the checks that
// need it are reported as skipped.
class Factory {
 public:
    Factory() = default;
    Factory(const Factory&) = delete;
    Factory& operator=(const Factory&) = delete;
    virtual ~Factory() = default;

    // A fresh, empty store, isolated from every earlier one. Hooks act on the latest.
    [[nodiscard]] virtual Result<std::shared_ptr<Provider>> create() = 0;

    // The clock of those stores when it moves by hand; nullptr: the checks wait in real time.
    [[nodiscard]] virtual ManualClock* clock() { return nullptr; }

    // The lease that checks take when they mean to let it run out.
    [[nodiscard]] virtual Duration lock_timeout() const { return std::chrono::seconds{1}; }

    // How long messages wait in these stores for an instance that has not started (P6).
    [[nodiscard]] virtual Duration unstarted_message_ttl() const { return std::chrono::hours{1}; }

    // True when an empty fetch waits for poll_timeout; false when it answers within the threshold.
    [[nodiscard]] virtual bool long_polling() const { return true; }
    [[nodiscard]] virtual Duration short_poll_threshold() const {
        return std::chrono::milliseconds{100};
    }

    // Closes the latest store and opens it again on the same data. Nothing may hold the old one.
    [[nodiscard]] virtual Result<std::shared_ptr<Provider>> reopen() {
        return fail(ErrorCode::unsupported, "this store does not outlive its provider");
    }
    // Whether leases and sessions from before a reopen are still valid after it.
    [[nodiscard]] virtual bool leases_survive_reopen() const { return false; }

    // Makes every stored event of the instance undecodable, or just one.
    [[nodiscard]] virtual Result<> corrupt_history(const std::string& /*instance*/) {
        return fail(ErrorCode::unsupported, "no access to stored events");
    }
    [[nodiscard]] virtual Result<> corrupt_event(const std::string& /*instance*/,
                                                 std::uint64_t /*execution_id*/,
                                                 std::uint64_t /*event_id*/) {
        return fail(ErrorCode::unsupported, "no access to stored events");
    }

    // Puts a visible row with this text into a queue, as damage or another version would.
    [[nodiscard]] virtual Result<> inject_orchestrator_row(const std::string& /*instance*/,
                                                           const std::string& /*text*/) {
        return fail(ErrorCode::unsupported, "no access to stored queue rows");
    }
    [[nodiscard]] virtual Result<> inject_worker_row(const std::string& /*text*/) {
        return fail(ErrorCode::unsupported, "no access to stored queue rows");
    }

    // The largest attempt count among the instance's orchestrator messages.
    [[nodiscard]] virtual Result<std::uint32_t> max_attempt_count(const std::string& /*instance*/) {
        return fail(ErrorCode::unsupported, "no access to stored attempt counts");
    }
};

// One sentence of the contract. `name` is stable; `category` groups; `promise` cites provider.hpp.
struct Check {
    std::string_view name;     // "test_atomicity_failure_rollback"
    std::string_view category; // "atomicity"
    std::string_view promise;  // "P2"
    void (*run)(Factory&);     // throws what `run` below understands
};

enum class Outcome : std::uint8_t { passed, failed, skipped };

struct Verdict {
    Outcome outcome = Outcome::passed;
    std::string message; // what was expected and what came, with file and line; or why skipped
};

[[nodiscard]] std::span<const Check> checks();

// Runs one check. Never throws: an exception that escapes the provider is a failure too.
[[nodiscard]] Verdict run(const Check& check, Factory& factory);

// A factory of in-memory stores on a clock moved by hand, with every hook.
[[nodiscard]] std::unique_ptr<Factory> memory_factory();

// Stores of `factory` that are closed and opened again before every call, so that the whole list of
// checks proves P12. Where leases do not survive a reopen, the store stays open while one is held.
// `factory` must outlive the answer and be able to reopen.
[[nodiscard]] std::unique_ptr<Factory> reopening_factory(Factory& factory);

} // namespace durable::validation
