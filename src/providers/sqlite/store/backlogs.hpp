// Backlogs: a cache of instances whose row does not change when one more message comes.
//
// An instance that has a visible message keeps its place and its oldest message when more come. For
// these add_message() need not read the row. The cache agrees with the database: the Writer's
// connection drops the entry of every row that changes (Connection::watch_rows).

#pragma once

#include "providers/sqlite/store/message_state.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace durable::sqlite {

class Backlogs {
 public:
    struct Backlog {
        std::int64_t instance = 0; // instances.id
        // The state of its messages while it waits for a start.
        std::optional<MessageState> aside;
    };

    [[nodiscard]] const Backlog* find(std::string_view instance_id) const {
        const auto found = backlogs_.find(instance_id);
        return found == backlogs_.end() ? nullptr : &found->second;
    }
    void remember(const std::string& instance_id, Backlog backlog) {
        if (backlogs_.size() >= most) {
            clear();
        }
        backlogs_.insert_or_assign(instance_id, backlog);
        names_.insert_or_assign(backlog.instance, instance_id);
    }
    void forget(std::int64_t instance) {
        if (const auto found = names_.find(instance); found != names_.end()) {
            backlogs_.erase(found->second);
            names_.erase(found);
        }
    }
    void clear() {
        backlogs_.clear();
        names_.clear();
    }

 private:
    static constexpr std::size_t most = 4096;

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };

    std::unordered_map<std::string, Backlog, Hash, std::equal_to<>> backlogs_;
    std::unordered_map<std::int64_t, std::string> names_;
};

} // namespace durable::sqlite
