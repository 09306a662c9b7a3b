// Which item of the worker queue a request gets: the oldest head among those it may take.

#include "providers/sqlite/store/work_queue.hpp"

#include <optional>
#include <string>

namespace durable::sqlite {

namespace {

// P5: keeps the oldest of the items that it is shown and that the request may take.
class WorkChoice {
 public:
    WorkChoice(Transaction& tx, const FetchWork& request) : tx_{tx}, request_{request} {}

    void consider(std::int64_t seq, const WorkNeeds& needs) {
        if ((!best_ || seq < *best_) && has_code(request_, needs) &&
            (!needs.suspect || may_take_suspects())) {
            best_ = seq;
        }
    }
    [[nodiscard]] std::optional<std::int64_t> best() const { return best_; }

 private:
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
    const FetchWork& request_;
    std::optional<std::int64_t> best_;
    std::optional<bool> suspects_; // whether it may take one
};

// Shows the choice the oldest item of each of the needs, for the tags that the filter lists or for
// all. `sql` finds the first needs after ?1 and before ?2: few different needs are in use at a
// time, so this skips from one to the next.
void consider_heads(Transaction& tx, const TagFilter& tags, const char* sql, WorkChoice& choice) {
    const auto consider = [&](TextRange range) {
        for (std::string found;; range.after.swap(found)) {
            Query row{tx.db, sql, range.after, range.before};
            if (!row.step()) {
                return;
            }
            found = row.text(0);
            choice.consider(row.integer(1), WorkNeeds::parse(found));
        }
    };
    if (tags.mode() == TagFilter::Mode::any) {
        return consider(all_work());
    }
    if (tags.matches(std::nullopt)) {
        consider(work_with_tag(std::nullopt));
    }
    for (const auto& tag : tags.listed()) {
        consider(work_with_tag(tag));
    }
}

void consider_open(Transaction& tx, const TagFilter& tags, WorkChoice& choice) {
    consider_heads(tx,
                   tags,
                   "SELECT needs, seq FROM work WHERE state = 1 AND session IS NULL"
                   " AND needs > ?1 AND needs < ?2 ORDER BY needs, seq LIMIT 1",
                   choice);
}

void consider_unclaimed(Transaction& tx, const TagFilter& tags, WorkChoice& choice) {
    consider_heads(tx,
                   tags,
                   "SELECT needs, head_seq FROM work_groups WHERE live = 0"
                   " AND head_seq IS NOT NULL AND needs > ?1 AND needs < ?2"
                   " ORDER BY needs, head_seq LIMIT 1",
                   choice);
}

void consider_owned(Transaction& tx,
                    const TagFilter& tags,
                    const std::string& owner,
                    WorkChoice& choice) {
    Query rows{tx.db,
               "SELECT g.needs, g.head_seq FROM sessions s JOIN work_groups g"
               " ON g.session = s.session WHERE s.owner = ?1 AND s.live = 1"
               " AND g.head_seq IS NOT NULL",
               owner};
    while (rows.step()) {
        const auto needs = WorkNeeds::parse(rows.view(0));
        if (tags.matches(needs.tag)) {
            choice.consider(rows.integer(1), needs);
        }
    }
}

// Most stores have no sessions.
bool has_groups(Transaction& tx) {
    if (!tx.outlook.has_groups) {
        tx.outlook.has_groups = find_integer(tx.db, "SELECT min(id) FROM work_groups").has_value();
    }
    return *tx.outlook.has_groups;
}

} // namespace

std::optional<WorkRow> first_ready(Transaction& tx, const FetchWork& request) {
    WorkChoice choice{tx, request};
    consider_open(tx, request.tags, choice);
    if (request.session && has_groups(tx)) {
        if (request.session->claim_new) {
            consider_unclaimed(tx, request.tags, choice);
        }
        consider_owned(tx, request.tags, request.session->owner_id, choice);
    }
    return choice.best() ? find_work(tx.db, *choice.best()) : std::nullopt;
}

} // namespace durable::sqlite
