// Measures the storage calls that the runtime makes. Only wrapped around when metrics are wanted.

#pragma once

#include <durable/provider.hpp>

#include <memory>

namespace durable::observability {

class Observer;

// `observer` must outlive the provider that is returned.
[[nodiscard]] std::shared_ptr<Provider> metered(std::shared_ptr<Provider> provider,
                                                const Observer& observer);

} // namespace durable::observability
