#include "providers/ledger/instance_table.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace durable::ledger {

namespace {

constexpr std::size_t no_record = 5; // behind the statuses

std::size_t list_of(const Instance& instance) {
    const auto status = instance.status();
    return status ? static_cast<std::size_t>(*status) : no_record;
}

} // namespace

InstanceTable::~InstanceTable() {
    instances_.dispose([](Instance& instance) { std::unique_ptr<Instance>{&instance}.reset(); });
}

std::size_t InstanceTable::hash_of(const Instance& instance) noexcept {
    return TextHash{}(instance.id());
}

Instance* InstanceTable::find_here(std::string_view id) const {
    return instances_.find(TextHash{}(id),
                           [&](const Instance& instance) { return instance.id() == id; });
}

Instance* InstanceTable::find(std::string_view id) {
    auto* found = find_here(id);
    if (found == nullptr && archive_ != nullptr) {
        archive_->bring(id);
        found = find_here(id);
    }
    return found;
}

const Instance* InstanceTable::find(std::string_view id) const {
    const auto* found = find_here(id);
    if (found == nullptr && archive_ != nullptr) {
        archive_->bring(id); // no change of state: it only moves into memory
        found = find_here(id);
    }
    return found;
}

Instance& InstanceTable::get(std::string_view id) {
    auto* found = find(id);
    return found != nullptr ? *found : make(id, next_incarnation_++);
}

Instance& InstanceTable::make(std::string_view id, std::uint64_t incarnation) {
    auto made = std::make_unique<Instance>();
    made->own_id = PackedText{id};
    instances_.insert(*made);
    auto& instance = *made.release();
    instance.incarnation = incarnation;
    instance.walked = walks_;
    instance.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &instance;
    last_ = &instance;
    return instance;
}

void InstanceTable::erase(Instance& instance) {
    unlist(instance);
    if (instance.parent != nullptr) {
        children_.erase({instance.parent, instance.number, &instance});
    }
    strings_.release(instance.name);
    strings_.release(instance.version);
    strings_.release(instance.parent);
    (instance.previous != nullptr ? instance.previous->next : first_) = instance.next;
    (instance.next != nullptr ? instance.next->previous : last_) = instance.previous;
    if (walker_ == &instance) {
        walker_ = instance.next;
    }
    instances_.erase(instance);
    std::unique_ptr<Instance>{&instance}.reset();
}

Instance* InstanceTable::walk() noexcept {
    auto* visited = walker_;
    if (visited != nullptr) {
        walker_ = visited->next;
    }
    return visited;
}

void InstanceTable::set_row(Instance& instance,
                            const ExecutionMetadata& metadata,
                            std::uint64_t execution_id) {
    if (!instance.exists()) {
        instance.current_execution = execution_id;
        instance.number = next_number_++;
    }
    const auto* name = strings_.acquire(*metadata.orchestration_name);
    const auto* version = strings_.acquire(*metadata.orchestration_version);
    strings_.release(std::exchange(instance.name, name));
    strings_.release(std::exchange(instance.version, version));
    if (instance.parent == nullptr && metadata.parent_instance_id) {
        set_parent(instance, *metadata.parent_instance_id);
    }
}

void InstanceTable::set_parent(Instance& instance, std::string_view parent) {
    instance.parent = strings_.acquire(parent);
    children_.emplace(instance.parent, instance.number, &instance);
}

Instance& InstanceTable::restore(std::string_view id, std::uint64_t incarnation) {
    next_incarnation_ = std::max(next_incarnation_, incarnation + 1);
    return make(id, incarnation);
}

void InstanceTable::restore_row(Instance& instance, const RowImage& row) {
    next_number_ = std::max(next_number_, row.number + 1);
    instance.number = row.number;
    instance.name = strings_.acquire(row.name);
    instance.version = strings_.acquire(row.version);
    instance.created_at = row.created_at;
    instance.updated_at = row.updated_at;
    instance.current_execution = row.current_execution;
    if (row.parent) {
        set_parent(instance, *row.parent);
    }
}

void InstanceTable::restore_counters(std::uint64_t next_number,
                                     std::uint64_t next_incarnation) noexcept {
    next_number_ = std::max(next_number_, next_number);
    next_incarnation_ = std::max(next_incarnation_, next_incarnation);
}

void InstanceTable::refresh_status(Instance& instance) {
    unlist(instance);
    if (!instance.exists()) {
        return;
    }
    const auto list = list_of(instance);
    instance.status_list = static_cast<std::uint8_t>(list);
    instance.status_slot = static_cast<std::uint32_t>(by_status_.at(list).size());
    by_status_.at(list).push_back(&instance);
}

void InstanceTable::unlist(Instance& instance) {
    if (instance.status_slot == no_slot) {
        return;
    }
    auto& list = by_status_.at(instance.status_list);
    list[instance.status_slot] = list.back();
    list[instance.status_slot]->status_slot = instance.status_slot;
    list.pop_back();
    instance.status_slot = no_slot;
}

const Version* InstanceTable::intern(const Version& version) {
    return &*versions_.insert(version).first;
}

const LongList<Instance*>& InstanceTable::with_status(std::optional<ExecutionStatus> status) const {
    return by_status_.at(status ? static_cast<std::size_t>(*status) : no_record);
}

std::uint64_t InstanceTable::existing() const noexcept {
    std::uint64_t count = 0;
    for (const auto& list : by_status_) {
        count += list.size();
    }
    for (const auto archived : archived_) {
        count += archived;
    }
    return count;
}

std::uint64_t InstanceTable::count(std::optional<ExecutionStatus> status) const {
    return with_status(status).size() +
           archived_.at(status ? static_cast<std::size_t>(*status) : no_record);
}

std::vector<Instance*> InstanceTable::children(std::string_view parent) const {
    if (archive_ != nullptr) {
        archive_->bring_children(parent);
    }
    std::vector<Instance*> found;
    const auto* pooled = strings_.find(parent);
    if (pooled == nullptr) {
        return found;
    }
    for (auto child = children_.lower_bound({pooled, 0, nullptr});
         child != children_.end() && std::get<0>(*child) == pooled;
         ++child) {
        found.push_back(std::get<2>(*child));
    }
    return found;
}

} // namespace durable::ledger
