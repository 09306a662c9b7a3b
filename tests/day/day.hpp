// Day: a store on a simulated disk, run for hours of simulated time by one thread, while the seed
// crashes it, fails its calls and fills its disk.
//
// Watched all the time: what was once read is never taken back, an activity never runs after its
// end was recorded, what was acknowledged ends with the right result. The same seed gives the same
// day, call by call.

#pragma once

#include "base/random.hpp"
#include "providers/fs/fs_provider.hpp"
#include "simulation/sim_files.hpp"

#include <durable/durable.hpp>
#include <durable/test_runtime.hpp>
#include <durable/testing.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace durable::simulation {

class Day {
 public:
    struct Counts {
        std::uint64_t lives = 0;    // times that the store was opened
        std::uint64_t crashes = 0;  // of the machine
        std::uint64_t failures = 0; // of the store, by an error of one call
        std::uint64_t refused = 0;  // calls of clients, because of a full disk or a failed store
        std::uint64_t orders = 0;   // acknowledged
        std::uint64_t runs = 0;     // of activities
        std::uint64_t calls = 0;    // to the file system
        bool operator==(const Counts&) const = default;
    };

    Day(std::uint64_t seed, Duration length);

    // Lives through it, then finishes in peace whatever is under way.
    void run();

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    [[nodiscard]] const std::vector<std::string>& complaints() const noexcept {
        return complaints_;
    }
    // Of everything that is stored in the end: equal days give equal digests.
    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

 private:
    enum class Payment : std::uint8_t { none, sent, unknown };
    struct Sent {
        bool acknowledged = false;
        Payment payment = Payment::none;
    };
    using Execution = std::pair<std::string, std::uint64_t>; // instance and number

    [[nodiscard]] bool open();
    void close();
    void plan_faults();
    void make_room();
    void live();
    void place_order();
    void look();
    void look_at(const std::string& id);
    void on_run(ActivityContext& ctx);
    void finish();
    void check_order(const std::string& id, const Sent& sent);
    void complain(const std::string& what);
    std::uint64_t roll(std::uint64_t below) { return random_.next() % below; }

    const Instant end_;
    SeededRandom random_;
    SimFiles disk_;
    const std::shared_ptr<ManualClock> clock_;
    Instant room_at_; // when the operator will have made room on a full disk
    std::shared_ptr<void> jumps_;
    std::shared_ptr<fs::FsProvider> store_;
    std::unique_ptr<TestRuntime> runtime_;

    int watch_rounds_;
    bool watching_ = false; // its start was acknowledged
    bool peace_ = false;    // no activity fails any more
    std::map<std::string, Sent> orders_;
    std::map<Execution, std::vector<HistoryEvent>> known_; // as read last
    Counts counts_;
    std::uint64_t digest_ = 0;
    std::vector<std::string> complaints_;
};

} // namespace durable::simulation
