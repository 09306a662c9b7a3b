// Activities: the decisions about the worker queue: fetch, finish, abandon, renew.

#pragma once

#include "providers/ledger/ledger.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <optional>
#include <string>

namespace durable::ledger {

// What a fetch does next. The caller applies `record`, which counts the attempt (P7); if there is a
// lease, it then calls take_work().
struct WorkOffer {
    Record record;
    std::optional<durable::WorkLease> lease; // nullopt: a row was quarantined; ask again
    Seq seq = 0;
    std::uint64_t reached = 0; // where the journal stood when it was taken
};

// nullopt: no item is eligible.
[[nodiscard]] std::optional<WorkOffer>
offer_work(Ledger& ledger, const durable::FetchWork& request, Moment now);
void take_work(Ledger& ledger,
               WorkOffer& offer,
               const durable::FetchWork& request,
               const Token& token,
               Moment now);

// How an activity's end is stored; needs no ledger and no lock.
[[nodiscard]] Result<std::optional<NewMessage>>
to_completion(const std::optional<WorkItem>& completion);
[[nodiscard]] Result<Record> finish_work(Ledger& ledger,
                                         const std::string& lock_token,
                                         Result<std::optional<NewMessage>> completion,
                                         Moment now);
[[nodiscard]] Result<Record> abandon_work(Ledger& ledger,
                                          const std::string& lock_token,
                                          std::optional<Duration> delay,
                                          bool ignore_attempt,
                                          Moment now);
[[nodiscard]] Result<>
renew_work(Ledger& ledger, const std::string& lock_token, Duration extend_for, Moment now);

[[nodiscard]] std::uint64_t renew_sessions(Ledger& ledger,
                                           const std::vector<std::string>& owner_ids,
                                           Duration extend_for,
                                           Duration idle_timeout,
                                           Moment now);
[[nodiscard]] std::uint64_t forget_sessions(Ledger& ledger, Moment now);

} // namespace durable::ledger
