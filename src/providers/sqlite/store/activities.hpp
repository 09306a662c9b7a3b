// Activities: fetch, finish, abandon and renew items of the worker queue, and their sessions.

#pragma once

#include "providers/sqlite/store/work_queue.hpp"

#include <durable/provider.hpp>

namespace durable::sqlite {

// Leases an item that is about to be queued (hand-off). nullopt: it does not decode, or an older
// one is ready (P5); the caller then queues it.
[[nodiscard]] std::optional<WorkLease>
take_fresh_work(Transaction& tx, const FetchWork& request, FreshWork& fresh);
// nullopt: nothing is eligible. P10: quarantines items that do not decode.
[[nodiscard]] std::optional<WorkLease> fetch_work(Transaction& tx, const FetchWork& request);
[[nodiscard]] Result<> finish_work(Transaction& tx,
                                   const std::string& lock_token,
                                   const std::optional<WorkItem>& completion);
[[nodiscard]] Result<>
renew_work(Transaction& tx, const std::string& lock_token, Duration extend_for);
[[nodiscard]] Result<> abandon_work(Transaction& tx,
                                    const std::string& lock_token,
                                    std::optional<Duration> delay,
                                    bool ignore_attempt);
[[nodiscard]] std::uint64_t renew_sessions(Transaction& tx,
                                           const std::vector<std::string>& owner_ids,
                                           Duration extend_for,
                                           Duration idle_timeout);
[[nodiscard]] std::uint64_t forget_sessions(Transaction& tx);

} // namespace durable::sqlite
