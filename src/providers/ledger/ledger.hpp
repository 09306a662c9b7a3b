// Ledger: the storage contract as a state machine in memory, shared by the memory and the
// filesystem provider. Pure and single-threaded: time and randomness enter as arguments.
//
// A state-changing call goes in two steps. The functions of turns.hpp, activities.hpp and
// management.hpp *decide*: they check the call against the current state and make a Record,
// changing nothing but the indexes that follow the time. Ledger::apply then makes the record true
// and cannot fail. A journal sits between the two; replaying it needs apply alone.
//
// Leases and sessions are not in records (renewals are too many, and none survives its process).
// handover.hpp passes them on from a ledger that was closed in good order.

#pragma once

#include "providers/ledger/image.hpp"
#include "providers/ledger/instance_table.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/record.hpp"
#include "providers/ledger/turn_queue.hpp"
#include "providers/ledger/work_queue.hpp"
#include "providers/rules/moment.hpp"

#include <durable/provider_admin.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace durable::ledger {

struct Options {
    // How long a message waits for an instance that has not started.
    Duration unstarted_message_ttl = std::chrono::hours{1};
    // Whether the ledger keeps candidates for take_settled(): for a store with an archive.
    bool track_settled = false;
};

struct Totals {
    std::uint64_t executions = 0;
    std::uint64_t events = 0;
    std::uint64_t quarantined = 0;
    std::uint64_t expired = 0;
    bool operator==(const Totals&) const = default;
};

class Ledger {
 public:
    // How many expired messages are kept to be looked at.
    static constexpr std::size_t most_expired_kept = 1000;

    explicit Ledger(Options options = {});
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // nullptr: none. Not set during recovery: no thread waits yet.
    void listen(Listener* listener) noexcept;

    // Makes a decided record true.
    void apply(Record record);

    // Brings the indexes up to date with the time. Every decision does it first.
    void advance(Moment now);

    // The state, for the functions that decide and read. Only apply() changes what is durable.
    InstanceTable instances;
    SuspectHold suspects;
    TurnQueue turns{suspects};
    WorkQueue work{suspects};

    // For random tests: DURABLE_CHECKs everything that must hold between calls. Walks over what is
    // queued, leased and parked.
    void check() const;

    // P16: when the lease of the last held suspect has ended, announces the ready suspects to the
    // listener.
    void announce_suspects();
    // Existing instances that were given back with a reason.
    [[nodiscard]] const std::set<Instance*>& parked() const noexcept { return parked_; }

    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] Seq next_seq() const noexcept { return next_seq_; }
    [[nodiscard]] const Totals& totals() const noexcept { return totals_; }
    [[nodiscard]] const std::vector<QuarantinedItem>& quarantine() const noexcept {
        return quarantine_;
    }
    [[nodiscard]] const std::deque<QuarantinedItem>& expired() const noexcept { return expired_; }

    // ---- Pieces of the state, see image.hpp

    [[nodiscard]] RestImage rest() const;
    void restore(RestImage image);
    // The id is not known yet.
    void restore(InstanceImage image, Instant now);

    // ---- Instances that an archive keeps, see archive.hpp. They count in totals() all the time.

    // Drops a settled instance (image.hpp) from memory; the archive has a copy.
    void set_aside(Instance& instance);
    // Puts it back into memory; the archive keeps its copy.
    void bring_back(InstanceImage image);
    // Counts one that recovery found in the archive.
    void count_archived(ExecutionStatus status, std::uint64_t executions, std::uint64_t events);
    // A settled instance without a copy in the archive; nullptr: there is none.
    [[nodiscard]] Instance* take_settled();
    void note_settled(const Instance& instance); // a candidate, if it is
    [[nodiscard]] std::uint64_t settled_bytes() const noexcept { return settled_bytes_; } // about
    [[nodiscard]] bool any_settled() const noexcept { return !settled_.empty(); }

    // Of an instance, also for a while after its deletion; 0: unknown.
    [[nodiscard]] std::uint64_t revision(const std::string& instance) const;

 private:
    void run(op::EnqueueMessage& operation);
    void run(op::StartInstance& operation);
    void run(op::EnqueueWork& operation);
    void run(op::FetchTurn& operation);
    void run(op::FetchWork& operation);
    void run(op::CommitTurn& operation);
    void run(op::AbandonTurn& operation);
    void run(op::FinishWork& operation);
    void run(op::AbandonWork& operation);
    void run(op::Append& operation);
    void run(op::Delete& operation);
    void run(op::Prune& operation);
    void run(op::Expire& operation);
    void run(op::Quarantine& operation);
    void run(op::QuarantineText& operation);

    void add(const NewMessage& message);
    void add(const NewWork& added);
    void append(Execution& execution, const std::vector<NewEvent>& events);
    void record_execution(Instance& instance, const op::CommitTurn& commit);
    void remove_work(Seq seq);
    void discard(Instance& instance);
    void remove_start(Seq seq);
    Instance& restore_instance(InstanceImage image, Instant now, Instance::Copy copy);
    void restore_queues(Instance& instance, const InstanceImage& image, Instant now);
    void drop_if_unused(Instance& instance);
    void set_parked(Instance& instance, const std::string& reason);
    void clear_parked(Instance& instance);
    void changed(Instance& instance, bool ended);
    void remember_deleted(const std::string& id);

    Options options_;
    Listener* listener_ = nullptr;
    Instant at_; // of the record being applied
    Seq next_seq_ = 1;
    std::uint64_t revision_ = 0; // one counter for all: a deleted id never repeats a revision
    Totals totals_;
    std::vector<QuarantinedItem> quarantine_;
    std::deque<QuarantinedItem> expired_;
    TextMap<std::uint64_t> deleted_; // revisions of the latest deletions, for watchers
    std::deque<std::string> deleted_order_;
    std::set<Instance*> parked_;
    std::deque<std::string> settled_; // candidates
    std::uint64_t settled_bytes_ = 0;
};

} // namespace durable::ledger
