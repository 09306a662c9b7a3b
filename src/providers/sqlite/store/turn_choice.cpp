// Which instance a request gets: the one with the oldest message among those it may take.

#include "providers/sqlite/store/turn_queue.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace durable::sqlite {

namespace {

class TurnChoice {
 public:
    TurnChoice(Transaction& tx, const FetchOrchestration& request) : tx_{tx}, request_{request} {}

    // Looks at the instances with the next needs; false: there are no more needs.
    bool next() {
        if (!read_next()) {
            return false;
        }
        text_.swap(found_); // no query binds it any more
        const auto needs = TurnNeeds::parse(text_);
        tx_.outlook.cancellations = tx_.outlook.cancellations || needs.cancelled;
        if ((best_ && best_seq_ < head_seq_) || !can_replay(request_, needs) ||
            (needs.suspect && !may_take_suspects())) {
            return true;
        }
        if (has_code(request_, needs)) {
            take(head_seq_, id_);
        } else if (const auto until = cancelled_until(request_, needs, tx_.now.wall)) {
            consider_cancelled(*until);
        }
        return true;
    }
    [[nodiscard]] std::optional<std::int64_t> best() const { return best_; }

 private:
    bool read_next() {
        Query row{tx_.db,
                  "SELECT needs, head_seq, id FROM instances WHERE place = 1 AND needs > ?1"
                  " ORDER BY needs, head_seq LIMIT 1",
                  text_};
        if (!row.step()) {
            return false;
        }
        head_seq_ = row.integer(1);
        id_ = row.integer(2);
        found_ = row.text(0);
        return true;
    }
    void take(std::int64_t seq, std::int64_t id) {
        best_ = id;
        best_seq_ = seq;
    }
    // The oldest that was cancelled early enough. Mostly that is the first.
    void consider_cancelled(Instant until) {
        Query rows{tx_.db,
                   "SELECT head_seq, id, cancelled_at FROM instances"
                   " WHERE place = 1 AND needs = ?1 ORDER BY head_seq",
                   text_};
        while (rows.step() && (!best_ || rows.integer(0) < best_seq_)) {
            if (rows.instant(2) <= until) {
                return take(rows.integer(0), rows.integer(1));
            }
        }
    }
    bool may_take_suspects() { // P16
        if (!request_.one_suspect) {
            return true;
        }
        if (!suspects_) {
            suspects_ = !tx_.suspects.held_until(tx_.db, tx_.now.steady);
        }
        return *suspects_;
    }

    Transaction& tx_;
    const FetchOrchestration& request_;
    std::string text_; // of the needs looked at last
    std::string found_;
    std::int64_t head_seq_ = 0;
    std::int64_t id_ = 0;
    std::optional<std::int64_t> best_;
    std::int64_t best_seq_ = 0;
    std::optional<bool> suspects_; // whether it may take one
};

} // namespace

// P5: the oldest. Few different needs are in use at a time: skips from one to the next.
std::optional<InstanceRow> first_ready(Transaction& tx, const FetchOrchestration& request) {
    tx.outlook.cancellations = false;
    TurnChoice choice{tx, request};
    while (choice.next()) {
    }
    return choice.best() ? find_instance(tx.db, *choice.best()) : std::nullopt;
}

} // namespace durable::sqlite
