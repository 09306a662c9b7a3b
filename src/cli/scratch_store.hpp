// ScratchStore: a fresh store for a measurement. It is empty at first, may be opened again and
// again, and is gone with the last copy of this object: nobody's own store is touched.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace durable::cli {

struct ScratchStore {
    // On whose disk it is; none: it is lost when it is closed. Exists once the store was opened.
    std::optional<std::string> directory;
    std::function<Result<std::shared_ptr<Provider>>()> open; // one at a time
    std::shared_ptr<void> files; // removed when nobody holds them any more
};

} // namespace durable::cli
