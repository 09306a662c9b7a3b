// Player: runs a script on two stores, the oracle and the subject, and stops at the first
// difference.

#pragma once

#include "validation/model/describe.hpp"
#include "validation/model/script.hpp"

#include <durable/provider.hpp>
#include <durable/testing.hpp>
#include <durable/validation.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::validation {

struct Difference {
    std::string oracle;
    std::string subject;
};

class Player {
 public:
    // Both stores are fresh and live on `clock`. The factory reopens the subject.
    Player(std::shared_ptr<Provider> oracle,
           std::shared_ptr<Provider> subject,
           Factory& factory,
           ManualClock& clock);

    // Runs one operation on both. Returns a difference in the answers, or in anything readable
    // afterwards.
    [[nodiscard]] std::optional<Difference> play(const Operation& operation);

    // One line per operation played, in words.
    [[nodiscard]] const std::vector<std::string>& script() const noexcept { return script_; }

 private:
    struct TurnPair {
        std::string oracle_token;
        std::string subject_token;
        std::string instance;
        std::uint64_t execution_id = 1;
    };
    struct WorkPair {
        std::string oracle_token;
        std::string subject_token;
        ActivityId id;
    };
    struct Answers {
        std::string oracle;
        std::string subject;
    };

    Answers act(Verb verb, Dice& dice);
    Answers send(Dice& dice);
    Answers start(Dice& dice);
    Answers enqueue_activity(Dice& dice);
    Answers fetch_turn(Dice& dice);
    Answers commit_turn(Dice& dice);
    Answers abandon_turn(Dice& dice);
    Answers renew_turn(Dice& dice);
    Answers fetch_work(Dice& dice);
    Answers finish_work(Dice& dice);
    Answers abandon_work(Dice& dice);
    Answers renew_work(Dice& dice);
    Answers renew_sessions(Dice& dice);
    Answers cleanup_sessions(Dice& dice);
    Answers append(Dice& dice);
    Answers pass_time(Dice& dice);
    Answers remove(Dice& dice);
    Answers remove_exactly(Dice& dice);
    Answers remove_bulk(Dice& dice);
    Answers prune(Dice& dice);
    Answers prune_bulk(Dice& dice);
    Answers reopen();

    // The same call to both, described.
    template <class Call>
    Answers both(const Call& call) {
        return {.oracle = describe(call(*oracle_)), .subject = describe(call(*subject_))};
    }

    [[nodiscard]] TurnPair pick_turn(Dice& dice) const;
    [[nodiscard]] WorkPair pick_work(Dice& dice) const;
    [[nodiscard]] std::vector<CachedHistory> known_histories(Dice& dice);
    void say(std::string line) { script_.push_back(std::move(line)); }

    std::shared_ptr<Provider> oracle_;
    std::shared_ptr<Provider> subject_;
    Factory& factory_;
    ManualClock& clock_;
    std::vector<TurnPair> turns_; // every lease ever granted: both must refuse stale tokens
    std::vector<WorkPair> works_;
    std::uint64_t last_event_id_ = 0;
    // Whether fetches ask for one suspect at a time. Which suspects are under way is not stored:
    // after a reopen the stores may differ in that.
    bool may_be_careful_ = true;
    std::vector<std::string> script_;
};

} // namespace durable::validation
