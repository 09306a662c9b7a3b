// Listener: hears from the ledger what may end the wait of a fetch or a watch (P11). The ledger
// calls it in the middle of a change: it takes note and does not call back.

#pragma once

#include "providers/ledger/turn_class.hpp"

#include <cstddef>
#include <string_view>

namespace durable::ledger {

struct WorkGroup; // work_queue.hpp

class Listener {
 public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    virtual ~Listener() = default;

    // One more instance of that class can be fetched.
    virtual void turn_ready(const TurnClass& turn) = 0;
    // So many items of the group can be fetched, by the requests that it serves.
    virtual void work_ready(const WorkGroup& group, std::size_t items) = 0;
    // A commit or a deletion touched the instance; `ended`: and it is completed, failed or gone.
    virtual void instance_changed(std::string_view instance, bool ended) = 0;
};

} // namespace durable::ledger
