// Defects of who is given what: P14 and P16.

#include "unit/validation/mutant.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace durable::validation {
namespace {

using namespace std::chrono_literals;
using Turn = Result<std::optional<OrchestrationItem>>;
using Work = Result<std::optional<WorkLease>>;

class IgnoresCode final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto all = request;
        all.code = nullptr;
        return inner().fetch_orchestration_item(all);
    }
};

class IgnoresTheCodeOfActivities final : public Mutant {
 public:
    using Mutant::Mutant;
    Work fetch_work_item(const FetchWork& request) override {
        auto all = request;
        all.code = nullptr;
        return inner().fetch_work_item(all);
    }
};

// Leases first and looks at the code then.
class TriesWhatItCannotRun final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto all = request;
        all.code = nullptr;
        auto turn = inner().fetch_orchestration_item(all);
        if (turn && *turn && request.code &&
            !request.code->has((*turn)->orchestration_name, (*turn)->version)) {
            (void)inner().abandon_orchestration_item({.lock_token = (*turn)->lock_token});
            return std::nullopt;
        }
        return turn;
    }
};

// The base of those that change what a node says it has.
class ChangesCode : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto other = request;
        if (request.code) {
            auto code = *request.code;
            change(code);
            other.code = std::make_shared<const OrchestrationCode>(std::move(code));
        }
        return inner().fetch_orchestration_item(other);
    }

 protected:
    virtual void change(OrchestrationCode& code) = 0;
};

class LooksAtNamesOnly final : public ChangesCode {
 public:
    using ChangesCode::ChangesCode;

 protected:
    void change(OrchestrationCode& code) override {
        for (auto& [name, versions] : code.versions) {
            versions.insert({"1.0.0", "2.0.0", "3.0.0"}); // all that checks use
        }
    }
};

class NeverEndsWhatItCannotRun final : public ChangesCode {
 public:
    using ChangesCode::ChangesCode;

 protected:
    void change(OrchestrationCode& code) override { code.cancelled_for.reset(); }
};

class EndsWhatOthersCanRun final : public ChangesCode {
 public:
    using ChangesCode::ChangesCode;

 protected:
    void change(OrchestrationCode& code) override {
        if (code.cancelled_for) {
            code.cancelled_for = 0ms;
        }
    }
};

// Work wakes the longest waiter, which is a fetch of a node with other code.
class WakesTheWrongNode final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto at_once = request;
        at_once.poll_timeout = request.code ? 0ms : request.poll_timeout;
        auto turn = inner().fetch_orchestration_item(at_once);
        return turn && !*turn ? asleep(request, std::move(turn)) : std::move(turn);
    }
    Work fetch_work_item(const FetchWork& request) override {
        auto at_once = request;
        at_once.poll_timeout = request.code ? 0ms : request.poll_timeout;
        auto work = inner().fetch_work_item(at_once);
        return work && !*work ? asleep(request, std::move(work)) : std::move(work);
    }

 private:
    // No turn of this instance is ever committed: the watch just passes the time.
    template <class Request, class Answer>
    Answer asleep(const Request& request, Answer nothing) {
        if (request.code && request.poll_timeout > 0ms) {
            (void)inner().watch_instance(
                {.instance = "nobody", .timeout = request.poll_timeout, .stop = request.stop});
        }
        return nothing;
    }
};

// The base of those that are careful at other times than they are asked to.
class CarefulWhen : public Mutant {
 public:
    CarefulWhen(std::shared_ptr<Provider> inner, bool always, bool turns, bool works)
        : Mutant{std::move(inner)}, always_{always}, turns_{turns}, works_{works} {}
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto other = request;
        other.one_suspect = (request.one_suspect && turns_) || always_;
        return inner().fetch_orchestration_item(other);
    }
    Work fetch_work_item(const FetchWork& request) override {
        auto other = request;
        other.one_suspect = (request.one_suspect && works_) || always_;
        return inner().fetch_work_item(other);
    }

 private:
    bool always_;
    bool turns_;
    bool works_;
};

class GivesAllSuspects final : public CarefulWhen {
 public:
    explicit GivesAllSuspects(std::shared_ptr<Provider> inner)
        : CarefulWhen{std::move(inner), false, false, false} {}
};

class SuspectsTurnsOnly final : public CarefulWhen {
 public:
    explicit SuspectsTurnsOnly(std::shared_ptr<Provider> inner)
        : CarefulWhen{std::move(inner), false, true, false} {}
};

class IsAlwaysCareful final : public CarefulWhen {
 public:
    explicit IsAlwaysCareful(std::shared_ptr<Provider> inner)
        : CarefulWhen{std::move(inner), true, true, true} {}
};

// What was ever a suspect under way is one for ever, and stops healthy work as well.
class NeverTrustsAgain final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        if (request.one_suspect && accused_) {
            return std::nullopt;
        }
        auto turn = inner().fetch_orchestration_item(request);
        accused_ = accused_ ||
                   (turn && *turn && request.one_suspect && (*turn)->attempt_count > suspect_after);
        return turn;
    }
    Work fetch_work_item(const FetchWork& request) override {
        if (request.one_suspect && accused_) {
            return std::nullopt;
        }
        auto work = inner().fetch_work_item(request);
        accused_ = accused_ ||
                   (work && *work && request.one_suspect && (*work)->attempt_count > suspect_after);
        return work;
    }

 private:
    bool accused_ = false;
};

} // namespace

std::vector<Defect> code_defects() {
    return {
        defect<IgnoresCode>("IgnoresCode",
                            {"a_turn_goes_to_a_fetch_that_has_its_code",
                             "order_is_kept_among_those_who_have_the_code",
                             "a_node_without_code_gets_nothing_that_needs_any"}),
        defect<IgnoresTheCodeOfActivities>("IgnoresTheCodeOfActivities",
                                           {"an_activity_goes_to_a_fetch_that_has_its_name",
                                            "tags_sessions_and_code_all_have_to_match"}),
        defect<TriesWhatItCannotRun>("TriesWhatItCannotRun",
                                     {"what_a_fetch_has_no_code_for_is_not_counted",
                                      "a_crowd_of_other_code_lets_work_pass",
                                      "an_ended_instance_needs_no_code"}),
        defect<LooksAtNamesOnly>(
            "LooksAtNamesOnly",
            {"the_version_has_to_be_there_too", "the_next_execution_needs_what_its_message_names"}),
        defect<NeverEndsWhatItCannotRun>("NeverEndsWhatItCannotRun",
                                         {"a_cancellation_that_waited_needs_no_code"}),
        defect<EndsWhatOthersCanRun>("EndsWhatOthersCanRun",
                                     {"a_cancellation_that_waited_needs_no_code",
                                      "a_cancellation_waits_from_when_it_can_be_delivered"}),
        defect<WakesTheWrongNode>("WakesTheWrongNode",
                                  {"a_turn_wakes_the_waiter_that_has_its_code"}),
        defect<GivesAllSuspects>("GivesAllSuspects",
                                 {"one_suspect_turn_is_given_at_a_time",
                                  "one_suspect_activity_is_given_at_a_time",
                                  "the_most_tried_message_makes_the_suspect"}),
        defect<SuspectsTurnsOnly>("SuspectsTurnsOnly",
                                  {"a_suspect_of_one_queue_holds_back_those_of_the_other",
                                   "renewing_a_suspect_activity_keeps_the_others_waiting"}),
        defect<IsAlwaysCareful>("IsAlwaysCareful",
                                {"fetches_that_do_not_ask_are_not_held_back",
                                 "fetches_that_do_not_ask_hold_nobody_back"}),
        defect<NeverTrustsAgain>("NeverTrustsAgain",
                                 {"one_suspect_turn_is_given_at_a_time",
                                  "hidden_messages_make_no_suspect",
                                  "a_suspect_turn_that_is_over_lets_the_next_come",
                                  "a_suspect_activity_that_is_over_lets_the_next_come"}),
    };
}

} // namespace durable::validation
