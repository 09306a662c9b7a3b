// Activities: leasing them, ending them, giving them back; and the sessions that bind them.

#pragma once

#include "providers/sqlite/work_queue.hpp"

#include <durable/provider.hpp>

namespace durable::sqlite {

// One that is about to be queued; nullopt: it is damaged, or something older is ready: it has to be
// queued and found.
[[nodiscard]] std::optional<WorkLease>
take_fresh_work(Transaction& tx, const FetchWork& request, FreshWork& fresh);
// nullopt: nothing is eligible. P10: damaged items on the way are put aside.
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
