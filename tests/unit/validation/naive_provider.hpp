// The storage contract written down as plainly as possible: a few vectors, and every call scans all
// of them. Slow on purpose, and independent of the ledger: model checking holds the ledger, with
// all its indexes, against this.

#pragma once

#include <durable/provider.hpp>

#include <memory>

namespace durable::testing {

[[nodiscard]] std::shared_ptr<Provider> naive_provider(std::shared_ptr<Clock> clock);

} // namespace durable::testing
