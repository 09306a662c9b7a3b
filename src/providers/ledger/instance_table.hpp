// InstanceTable: all Instances by id, with lists of the existing ones by status and by parent.
// Those that an Archive keeps are counted here and brought back when a call looks them up.

#pragma once

#include "base/link_table.hpp"
#include "providers/ledger/archive.hpp"
#include "providers/ledger/image.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/long_list.hpp"
#include "providers/ledger/string_pool.hpp"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace durable::ledger {

// Every list of InstanceTable::with_status.
inline constexpr std::array<std::optional<ExecutionStatus>, 6> all_statuses = {
    ExecutionStatus::running,
    ExecutionStatus::completed,
    ExecutionStatus::failed,
    ExecutionStatus::continued_as_new,
    ExecutionStatus::pending,
    std::nullopt};

class InstanceTable {
 public:
    InstanceTable() = default;
    InstanceTable(const InstanceTable&) = delete;
    InstanceTable& operator=(const InstanceTable&) = delete;
    ~InstanceTable();

    void keep_in(Archive* archive) noexcept { archive_ = archive; } // nullptr: all are in memory

    [[nodiscard]] Instance* find(std::string_view id);
    [[nodiscard]] const Instance* find(std::string_view id) const;
    [[nodiscard]] Instance* find_here(std::string_view id) const; // asks no archive
    [[nodiscard]] Instance& get(std::string_view id);             // made when missing
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

    // ---- A walk over all that are in memory, one at a time. Instances may come and go between
    // steps: those that came since the start count as visited (Instance::walked).

    void start_walk() noexcept {
        walker_ = first_;
        ++walks_;
    }
    [[nodiscard]] Instance* walk() noexcept; // nullptr: the end
    [[nodiscard]] std::uint32_t walks() const noexcept { return walks_; }

    [[nodiscard]] const Version* intern(const Version& version);

    // Existing instances whose current execution has that status; nullopt: no record of it.
    [[nodiscard]] const LongList<Instance*>&
    with_status(std::optional<ExecutionStatus> status) const;
    [[nodiscard]] std::uint64_t existing() const noexcept;
    // How many there are, with those in the archive.
    [[nodiscard]] std::uint64_t count(std::optional<ExecutionStatus> status) const;
    void count_archived(ExecutionStatus status, std::int64_t more) {
        archived_.at(static_cast<std::size_t>(status)) += static_cast<std::uint64_t>(more);
    }
    // Oldest first. Brings back those in the archive.
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

    [[nodiscard]] static std::size_t hash_of(const Instance& instance) noexcept;

    LinkTable<Instance, &Instance::same_hash, &InstanceTable::hash_of> instances_;
    StringPool strings_;
    std::set<Version> versions_; // few: every engine version that ever pinned an execution
    std::array<LongList<Instance*>, 6> by_status_; // five statuses, then "no record"
    std::set<Child> children_;
    std::uint64_t next_number_ = 1;
    std::uint64_t next_incarnation_ = 1;
    Instance* first_ = nullptr;
    Instance* last_ = nullptr;
    Instance* walker_ = nullptr; // the one to visit next
    std::uint32_t walks_ = 0;
    Archive* archive_ = nullptr;
    std::array<std::uint64_t, 6> archived_{}; // by status
};

} // namespace durable::ledger
