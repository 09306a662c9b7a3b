// Judge: reads the diaries of one life after the other and says which promise was broken.
//
//   - What was acknowledged, or once seen in the store, is there in every later life, until its
//     deletion is asked for; what was deleted with acknowledgement never comes back.
//   - A step may run again as long as its end is not stored. Once it is, it never runs again.
//   - In one life no step runs twice: no lease runs out that fast.
//   - A step runs only when the store already has the decision to run it, so the next life finds
//   it.
//   - An order ends once, with the right result.

#pragma once

#include "kill_nine/diary.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace durable::kill_nine {

class Judge {
 public:
    // The next life.
    void judge(const std::vector<Entry>& life);
    // After the last one, in which no worker was killed and everything was waited for.
    void judge_end();

    // Orders that were sent and never acknowledged: whether they exist is open, and a client sends
    // them again.
    [[nodiscard]] std::vector<std::string> unanswered() const;

    [[nodiscard]] const std::vector<std::string>& complaints() const noexcept {
        return complaints_;
    }

    struct Counts {
        std::uint64_t lives = 0;
        std::uint64_t orders = 0; // acknowledged
        std::uint64_t ended = 0;
        std::uint64_t deleted = 0;
        std::uint64_t runs = 0;  // of steps
        std::uint64_t again = 0; // of these, not the first
    };
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
    struct Order {
        bool exists = false; // acknowledged or seen
        bool ended = false;
        bool deleting = false;
        bool deleted = false;
        std::set<std::string, std::less<>> ran; // in any life
        std::set<std::string, std::less<>> recorded;
        // In this life
        bool found = false;
        std::set<std::string, std::less<>> scheduled_now;
        std::set<std::string, std::less<>> recorded_now;
        std::set<std::string, std::less<>> ran_now;
    };

    void take(const Entry& entry);
    void take_found(Order& order, const Entry& entry);
    void take_ready();
    void take_ran(Order& order, const Entry& entry);
    void take_end(Order& order, const std::string& id, const std::string& result);
    void complain(const std::string& order, const std::string& what);

    // Those that may still change, and those that are gone for good.
    std::map<std::string, Order, std::less<>> orders_;
    std::set<std::string, std::less<>> gone_;
    bool ready_ = false; // in this life
    Counts counts_;
    std::vector<std::string> complaints_;
};

} // namespace durable::kill_nine
