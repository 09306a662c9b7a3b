// Arrivals: messages for instances that have visible ones already.
//
// Such a message changes nothing about its instance. Put where it belongs, behind the others of its
// instance, it would change a page of the file that no other message changes; so it is put down
// behind the last one of all instances, and goes where it belongs when somebody looks for the
// messages of its instance.

#pragma once

#include "providers/ledger/record.hpp"
#include "providers/sqlite/connection.hpp"

#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace durable::sqlite {

class Arrivals {
 public:
    // Which messages may be put down here: visible from now on, and nothing that is looked for by
    // what it says.
    [[nodiscard]] static bool suits(const ledger::NewMessage& message, Instant now);

    void put_down(Connection& db,
                  std::int64_t seq,
                  std::int64_t instance,
                  const ledger::NewMessage& message,
                  Instant now);
    // Those of one instance go where they belong.
    void sort(Connection& db, std::int64_t instance);

    // Others may have put down or sorted some.
    void look_again() noexcept { current_ = false; }
    // What is known may never have happened.
    void forget();

 private:
    void catch_up(Connection& db);

    // By instance. Others may have sorted some of them.
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> known_;
    std::size_t count_ = 0;          // of those known
    std::size_t count_at_first_ = 0; // when all of them were read
    std::int64_t known_below_ = 0;   // the seq that comes next may be unknown
    bool current_ = false;
};

} // namespace durable::sqlite
