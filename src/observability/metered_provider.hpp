// Measures the storage calls of a runtime. Used only when the runtime has metrics.

#pragma once

#include <durable/provider.hpp>

#include <memory>

namespace durable::observability {

class Observer;

// `observer` must outlive the provider that is returned.
[[nodiscard]] std::shared_ptr<Provider> metered(std::shared_ptr<Provider> provider,
                                                const Observer& observer);

} // namespace durable::observability
