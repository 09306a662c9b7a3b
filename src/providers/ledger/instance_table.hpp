// InstanceTable: every instance id that something is known about, with lists of the existing ones
// by status and by parent.

#pragma once

#include "providers/ledger/image.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/string_pool.hpp"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace durable::ledger {

class InstanceTable {
 public:
    InstanceTable() = default;
    InstanceTable(const InstanceTable&) = delete;
    InstanceTable& operator=(const InstanceTable&) = delete;

    [[nodiscard]] Instance* find(std::string_view id);
    [[nodiscard]] const Instance* find(std::string_view id) const;
    [[nodiscard]] Instance& get(std::string_view id); // made when missing
    void erase(Instance& instance);

    // Makes the row, or renames it; a parent is set once. Both keep the lists right.
    void set_row(Instance& instance, const ExecutionMetadata& metadata, std::uint64_t execution_id);
    // To be called after the current execution or its status changed.
    void refresh_status(Instance& instance);

    // ---- From images; the id is not known yet.

    [[nodiscard]] Instance& restore(std::string_view id, std::uint64_t incarnation);
    void restore_row(Instance& instance, const RowImage& row);
    void restore_counters(std::uint64_t next_number, std::uint64_t next_incarnation) noexcept;
    [[nodiscard]] std::uint64_t next_number() const noexcept { return next_number_; }
    [[nodiscard]] std::uint64_t next_incarnation() const noexcept { return next_incarnation_; }

    // ---- A walk over all, one at a time. Instances may come and go between steps: new ones are
    // met, gone ones are not.

    void start_walk() noexcept { walker_ = first_; }
    [[nodiscard]] Instance* walk() noexcept; // nullptr: the end

    [[nodiscard]] const Version* intern(const Version& version);

    // Existing instances whose current execution has that status; nullopt: no record of it.
    [[nodiscard]] const std::vector<Instance*>&
    with_status(std::optional<ExecutionStatus> status) const;
    [[nodiscard]] std::uint64_t existing() const noexcept;
    // Oldest first.
    [[nodiscard]] std::vector<Instance*> children(std::string_view parent) const;

    // In order of first mention.
    template <class Fn>
    void for_each(Fn&& fn) const {
        for (const auto* instance = first_; instance != nullptr; instance = instance->next) {
            fn(*instance);
        }
    }

 private:
    using Child = std::tuple<const std::string*, std::uint64_t, Instance*>; // parent, number

    [[nodiscard]] Instance& make(std::string_view id, std::uint64_t incarnation);
    void set_parent(Instance& instance, std::string_view parent);
    void unlist(Instance& instance);

    TextMap<Instance> instances_;
    StringPool strings_;
    std::set<Version> versions_; // few: every engine version that ever pinned an execution
    std::array<std::vector<Instance*>, 5> by_status_; // four statuses, then "no record"
    std::set<Child> children_;
    std::uint64_t next_number_ = 1;
    std::uint64_t next_incarnation_ = 1;
    Instance* first_ = nullptr;
    Instance* last_ = nullptr;
    Instance* walker_ = nullptr; // the one to visit next
};

} // namespace durable::ledger
