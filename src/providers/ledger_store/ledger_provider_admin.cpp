// The part of LedgerProvider that deletes and prunes.

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger_store/ledger_provider.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>
#include <utility>

namespace durable::ledger {

namespace {

// Other calls get the mutex in between.
constexpr std::uint32_t most_at_once = 1000;

void add(DeleteInstanceResult& sum, const DeleteInstanceResult& more) {
    sum.instances_deleted += more.instances_deleted;
    sum.executions_deleted += more.executions_deleted;
    sum.events_deleted += more.events_deleted;
    sum.queue_messages_deleted += more.queue_messages_deleted;
}

void add(PruneResult& sum, const PruneResult& more) {
    sum.instances_processed += more.instances_processed;
    sum.executions_deleted += more.executions_deleted;
    sum.events_deleted += more.events_deleted;
}

} // namespace

// Commits the decided record and answers its result.
template <class Decided>
Result<decltype(Decided::result)> LedgerProvider::finish(Result<Decided> decided) {
    DURABLE_TRY(looked());
    if (!decided) {
        return std::unexpected{std::move(decided).error()};
    }
    DURABLE_TRY(commit(std::move(decided->record)));
    return decided->result;
}

template <class Answer>
Result<Answer>
LedgerProvider::tell(std::string_view operation, Result<Answer> answer, std::uint64_t reached) {
    // P12: a refusal waits too, as it depends on what is stored.
    if (auto safe = wait_until_safe(AnswerKind::done, reached, 0); !safe) {
        return failed(std::move(safe).error(), operation);
    }
    if (!answer) {
        return failed(std::move(answer).error(), operation);
    }
    return answer;
}

Result<DeleteInstanceResult> LedgerProvider::delete_instance(const std::string& instance,
                                                             bool force) {
    std::uint64_t reached = 0;
    auto deleted = with_all_here([&](const MutexLock& lock) {
        mutex_.assert_held();
        auto done = finish(delete_tree(ledger_, instance, force, now()));
        wake(lock);
        reached = position();
        return done;
    });
    return tell("delete_instance", std::move(deleted), reached);
}

Result<DeleteInstanceResult>
LedgerProvider::delete_instances_atomic(const std::vector<std::string>& instances, bool force) {
    std::uint64_t reached = 0;
    auto deleted = with_all_here([&](const MutexLock& lock) {
        mutex_.assert_held();
        auto done = finish(delete_instances(ledger_, instances, force, now()));
        wake(lock);
        reached = position();
        return done;
    });
    return tell("delete_instances_atomic", std::move(deleted), reached);
}

Result<> LedgerProvider::delete_some(const InstanceFilter& filter,
                                     std::uint32_t& roots,
                                     DeleteInstanceResult& sum) {
    auto some = filter;
    some.limit = *filter.limit - roots;
    const auto matching = deletable_roots(ledger_, some);
    DURABLE_TRY(looked());
    for (const auto& root : matching) {
        DURABLE_TRY_ASSIGN(const auto deleted, finish(delete_tree(ledger_, root, true, now())));
        add(sum, deleted);
        ++roots;
    }
    return {};
}

Result<> LedgerProvider::delete_matching(const InstanceFilter& filter,
                                         std::uint32_t& left,
                                         DeleteInstanceResult& sum,
                                         std::uint64_t& reached) {
    for (auto some = filter; left > 0;) {
        some.limit = std::min(left, most_at_once);
        std::uint32_t roots = 0;
        DURABLE_TRY(with_all_here([&](const MutexLock& lock) {
            mutex_.assert_held();
            auto done = delete_some(some, roots, sum);
            wake(lock);
            reached = position();
            return done;
        }));
        left -= roots;
        if (roots < *some.limit) {
            break;
        }
    }
    return {};
}

Result<DeleteInstanceResult> LedgerProvider::delete_instance_bulk(const InstanceFilter& filter) {
    constexpr std::string_view operation = "delete_instance_bulk";
    DeleteInstanceResult sum;
    std::uint64_t reached = 0;
    auto left = filter.limit.value_or(default_bulk_limit);
    auto done = delete_matching(filter, left, sum, reached);
    if (done && !filter.instance_ids && left > 0) {
        const auto elsewhere = archived(filter, true, left);
        done = elsewhere ? Result<>{} : std::unexpected{elsewhere.error()};
        for (std::span<const std::string> ids = elsewhere ? std::span<const std::string>{*elsewhere}
                                                          : std::span<const std::string>{};
             done && !ids.empty() && left > 0;) {
            const auto count = std::min<std::size_t>(ids.size(), most_at_once);
            auto some = filter;
            some.instance_ids.emplace(ids.begin(),
                                      ids.begin() + static_cast<std::ptrdiff_t>(count));
            ids = ids.subspan(count);
            done = delete_matching(some, left, sum, reached);
        }
    }
    if (!done) {
        return failed(std::move(done).error(), operation);
    }
    return tell(operation, Result<DeleteInstanceResult>{sum}, reached);
}

Result<PruneResult> LedgerProvider::prune_one(const std::string& instance,
                                              const PruneOptions& options) {
    auto decided = prune(ledger_, instance, options, now());
    if (decided && decided->result.executions_deleted == 0) {
        DURABLE_TRY(looked());
        return decided->result; // nothing to journal
    }
    return finish(std::move(decided));
}

Result<PruneResult> LedgerProvider::prune_executions(const std::string& instance,
                                                     const PruneOptions& options) {
    std::uint64_t reached = 0;
    auto pruned = with_all_here([&](const MutexLock& lock) {
        mutex_.assert_held();
        auto done = prune_one(instance, options);
        wake(lock);
        reached = position();
        return done;
    });
    return tell("prune_executions", std::move(pruned), reached);
}

Result<> LedgerProvider::prune_some(std::span<const std::string>& instances,
                                    const PruneOptions& options,
                                    PruneResult& sum) {
    for (; !instances.empty(); instances = instances.subspan(1)) {
        auto pruned = prune_one(instances.front(), options);
        if (pruned) {
            add(sum, *pruned);
        } else if (pruned.error().code != ErrorCode::not_found) { // deleted meanwhile: fine
            return std::unexpected{std::move(pruned).error()};
        }
    }
    return {};
}

Result<PruneResult> LedgerProvider::prune_executions_bulk(const InstanceFilter& filter,
                                                          const PruneOptions& options) {
    constexpr std::string_view operation = "prune_executions_bulk";
    PruneResult sum;
    std::uint64_t reached = 0;
    std::vector<std::string> matching;
    auto done = with_all_here([&](const MutexLock&) {
        mutex_.assert_held();
        matching = prunable(ledger_, filter);
        return looked();
    });
    const std::size_t limit = filter.limit.value_or(default_bulk_limit);
    if (!filter.instance_ids && matching.size() < limit) {
        auto elsewhere = archived(filter, false, limit - matching.size());
        if (!elsewhere) {
            return failed(std::move(elsewhere).error(), operation);
        }
        // An instance that was archived in between must not be in the list twice.
        const std::unordered_set<std::string> met{matching.begin(), matching.end()};
        std::ranges::copy_if(*elsewhere, std::back_inserter(matching), [&](const auto& id) {
            return !met.contains(id);
        });
    }
    for (std::span<const std::string> left{matching}; done && !left.empty();) {
        auto some = left.first(std::min<std::size_t>(left.size(), most_at_once));
        left = left.subspan(some.size());
        done = with_all_here([&](const MutexLock& lock) {
            mutex_.assert_held();
            auto pruned = prune_some(some, options, sum);
            wake(lock);
            reached = position();
            return pruned;
        });
    }
    if (!done) {
        return failed(std::move(done).error(), operation);
    }
    return tell(operation, Result<PruneResult>{sum}, reached);
}

} // namespace durable::ledger
