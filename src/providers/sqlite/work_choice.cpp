// Which item of the worker queue a request gets: the oldest head among those it may take.

#include "providers/sqlite/work_queue.hpp"

#include <optional>
#include <string>

namespace durable::sqlite {

namespace {

// The lowest of what it is shown.
class Lowest {
 public:
    void consider(std::optional<std::int64_t> seq) {
        if (seq && (!seq_ || *seq < *seq_)) {
            seq_ = seq;
        }
    }
    [[nodiscard]] std::optional<std::int64_t> seq() const { return seq_; }

 private:
    std::optional<std::int64_t> seq_;
};

// Shows the head of every tag that the filter lists, or of every tag there is.
template <class HeadOf, class HeadAfter>
void consider_tags(const TagFilter& tags, HeadOf&& head_of, HeadAfter&& head_after) {
    if (tags.matches(std::nullopt)) {
        head_of(std::optional<std::string>{});
    }
    for (const auto& tag : tags.listed()) {
        head_of(std::optional{tag});
    }
    if (tags.mode() == TagFilter::Mode::any) {
        for (auto tag = head_after(std::optional<std::string>{}); tag;) {
            tag = head_after(tag);
        }
    }
}

void consider_open(Transaction& tx, const TagFilter& tags, Lowest& lowest) {
    consider_tags(
        tags,
        [&](const std::optional<std::string>& tag) {
            lowest.consider(find_integer(tx.db,
                                         "SELECT min(seq) FROM work WHERE tag IS ?1"
                                         " AND state = 1 AND session IS NULL",
                                         tag));
        },
        [&](const std::optional<std::string>& last) -> std::optional<std::string> {
            Query row{tx.db,
                      last ? "SELECT tag, seq FROM work WHERE state = 1 AND session IS NULL"
                             " AND tag > ?1 ORDER BY tag, seq LIMIT 1"
                           : "SELECT tag, seq FROM work WHERE state = 1 AND session IS NULL"
                             " AND tag >= '' ORDER BY tag, seq LIMIT 1",
                      last};
            if (!row.step()) {
                return std::nullopt;
            }
            lowest.consider(row.integer(1));
            return row.text(0);
        });
}

void consider_unclaimed(Transaction& tx, const TagFilter& tags, Lowest& lowest) {
    consider_tags(
        tags,
        [&](const std::optional<std::string>& tag) {
            lowest.consider(find_integer(tx.db,
                                         "SELECT min(head_seq) FROM work_groups WHERE tag IS ?1"
                                         " AND live = 0 AND head_seq IS NOT NULL",
                                         tag));
        },
        [&](const std::optional<std::string>& last) -> std::optional<std::string> {
            Query row{tx.db,
                      last ? "SELECT tag, head_seq FROM work_groups WHERE live = 0"
                             " AND head_seq IS NOT NULL AND tag > ?1"
                             " ORDER BY tag, head_seq LIMIT 1"
                           : "SELECT tag, head_seq FROM work_groups WHERE live = 0"
                             " AND head_seq IS NOT NULL AND tag >= ''"
                             " ORDER BY tag, head_seq LIMIT 1",
                      last};
            if (!row.step()) {
                return std::nullopt;
            }
            lowest.consider(row.integer(1));
            return row.text(0);
        });
}

void consider_owned(Transaction& tx,
                    const TagFilter& tags,
                    const std::string& owner,
                    Lowest& lowest) {
    Query rows{tx.db,
               "SELECT g.tag, g.head_seq FROM sessions s JOIN work_groups g"
               " ON g.session = s.session WHERE s.owner = ?1 AND s.live = 1"
               " AND g.head_seq IS NOT NULL",
               owner};
    while (rows.step()) {
        if (tags.matches(rows.optional_text(0))) {
            lowest.consider(rows.integer(1));
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
    Lowest lowest;
    consider_open(tx, request.tags, lowest);
    if (request.session && has_groups(tx)) {
        if (request.session->claim_new) {
            consider_unclaimed(tx, request.tags, lowest);
        }
        consider_owned(tx, request.tags, request.session->owner_id, lowest);
    }
    return lowest.seq() ? find_work(tx.db, *lowest.seq()) : std::nullopt;
}

} // namespace durable::sqlite
