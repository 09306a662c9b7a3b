// Arrivals: an append-only table for messages to instances that have visible messages already.
//
// Such a message does not change the row of its instance. In `messages`, beside the others of its
// instance, it would dirty a page of its own in the file. So it is first appended to `arrivals`,
// behind those of all instances, and moved to `messages` when a transaction reads the messages of
// its instance.

#pragma once

#include "providers/rules/stored.hpp"
#include "providers/sqlite/db/connection.hpp"

#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace durable::sqlite {

class Arrivals {
 public:
    // Which messages may be appended here: visible now, and of a kind that no query looks for.
    [[nodiscard]] static bool suits(const rules::NewMessage& message, Instant now);

    void put_down(Connection& db,
                  std::int64_t seq,
                  std::int64_t instance,
                  const rules::NewMessage& message,
                  Instant now);
    // Moves those of one instance to `messages`.
    void sort(Connection& db, std::int64_t instance);

    // Another process may have appended or moved some.
    void look_again() noexcept { current_ = false; }
    // The transaction was undone: what is known may be wrong.
    void forget();

 private:
    void catch_up(Connection& db);

    // By instance. Another process may have moved some of them.
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> known_;
    std::size_t count_ = 0;          // in known_
    std::size_t count_at_first_ = 0; // when all of them were read
    std::int64_t known_below_ = 0;   // those from this seq on may be missing in known_
    bool current_ = false;
};

} // namespace durable::sqlite
