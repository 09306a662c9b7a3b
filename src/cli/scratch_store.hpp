// ScratchStore: a fresh store for a measurement. It is empty at first, may be opened again and
// again, and is removed with the last copy of this object. Existing stores are not touched.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace durable::cli {

struct ScratchStore {
    // A directory on the disk of the store; none: the store is lost when it is closed. Exists once
    // the store was opened.
    std::optional<std::string> directory;
    std::function<Result<std::shared_ptr<Provider>>()> open; // one at a time
    std::shared_ptr<void> files;                             // its deleter removes them
};

} // namespace durable::cli
