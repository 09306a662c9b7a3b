#include "kill_nine/judge.hpp"

#include "kill_nine/orders.hpp"

#include <string_view>
#include <utility>

namespace durable::kill_nine {

void Judge::judge(const std::vector<Entry>& life) {
    ++counts_.lives;
    ready_ = false;
    for (auto& [id, order] : orders_) {
        order.found = false;
        order.scheduled_now.clear();
        order.recorded_now.clear();
        order.ran_now.clear();
    }
    for (const auto& entry : life) {
        take(entry);
    }
}

void Judge::take(const Entry& entry) {
    if (entry.what == entry::ready) {
        take_ready();
        return;
    }
    if (gone_.contains(entry.order)) {
        complain(entry.order, entry.what + " after its deletion was acknowledged");
        return;
    }
    if (entry.what == entry::sends) {
        orders_[entry.order];
        return;
    }
    const auto found = orders_.find(entry.order);
    if (found == orders_.end()) {
        complain(entry.order, entry.what + ", but nobody ever sent it");
        return;
    }
    auto& order = found->second;
    if (entry.what == entry::found) {
        take_found(order, entry);
    } else if (entry.what == entry::scheduled) {
        order.scheduled_now.insert(entry.detail);
    } else if (entry.what == entry::recorded) {
        order.recorded_now.insert(entry.detail);
    } else if (entry.what == entry::broken) {
        complain(entry.order, "its history is broken: " + entry.detail);
    } else if (entry.what == entry::started) {
        counts_.orders += order.exists ? 0U : 1U;
        order.exists = true;
    } else if (entry.what == entry::ran) {
        take_ran(order, entry);
    } else if (entry.what == entry::ended) {
        take_end(order, entry.order, entry.detail);
    } else if (entry.what == entry::deletes) {
        order.deleting = true;
    } else if (entry.what == entry::deleted) {
        ++counts_.deleted;
        gone_.insert(entry.order);
        orders_.erase(found);
    } else {
        complain(entry.order, "the diary says '" + entry.what + "'");
    }
}

void Judge::take_found(Order& order, const Entry& entry) {
    counts_.orders += order.exists ? 0U : 1U;
    order.exists = order.found = true;
    const auto ended = std::string{completed} + " ";
    if (entry.detail.starts_with(ended)) {
        take_end(order, entry.order, entry.detail.substr(ended.size()));
    } else if (entry.detail != running) {
        complain(entry.order, "is " + entry.detail);
    } else if (order.ended) {
        complain(entry.order, "had ended, and runs again");
    }
}

// The look into the store is complete: is everything there?
void Judge::take_ready() {
    ready_ = true;
    for (auto& [id, order] : orders_) {
        if (order.exists && !order.found && !order.deleting) {
            complain(id, "is lost");
        }
        if (!order.found) {
            continue;
        }
        for (const auto& step : order.recorded) {
            if (!order.recorded_now.contains(step)) {
                complain(id, "the end of " + step + " was stored, and is lost");
            }
        }
        for (const auto& step : order.ran) {
            if (!order.scheduled_now.contains(step)) {
                complain(id, step + " ran, but the store does not know why");
            }
        }
        order.recorded = order.recorded_now;
    }
    // An unacknowledged deletion happened, or did not: now it is known.
    std::erase_if(orders_, [this](const auto& each) {
        const auto& [id, order] = each;
        const bool gone = order.deleting && !order.found;
        if (gone) {
            gone_.insert(id);
        }
        return gone;
    });
}

void Judge::take_ran(Order& order, const Entry& entry) {
    ++counts_.runs;
    counts_.again += order.ran.insert(entry.detail).second ? 0U : 1U;
    if (!ready_) {
        complain(entry.order, entry.detail + " ran before anything was started");
    }
    if (order.recorded.contains(entry.detail)) {
        complain(entry.order, entry.detail + " ran again after its end was stored");
    }
    if (order.ended) {
        complain(entry.order, entry.detail + " ran after the order had ended");
    }
    if (!order.ran_now.insert(entry.detail).second) {
        complain(entry.order, entry.detail + " ran twice in one life");
    }
}

void Judge::take_end(Order& order, const std::string& id, const std::string& result) {
    counts_.ended += order.ended ? 0U : 1U;
    order.ended = true;
    if (result != expected_result(id)) {
        complain(id, "ended with '" + result + "'");
    }
}

void Judge::judge_end() {
    for (const auto& [id, order] : orders_) {
        if (!order.ended && !order.deleting) {
            complain(id, "never ended");
        }
    }
}

std::vector<std::string> Judge::unanswered() const {
    std::vector<std::string> ids;
    for (const auto& [id, order] : orders_) {
        if (!order.exists) {
            ids.push_back(id);
        }
    }
    return ids;
}

void Judge::complain(const std::string& order, const std::string& what) {
    complaints_.push_back("life " + std::to_string(counts_.lives) + ", " + order + ": " + what);
}

} // namespace durable::kill_nine
