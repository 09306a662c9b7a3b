// File errors as errors of the library: the only place where one becomes the other.

#pragma once

#include "base/files.hpp"

#include <durable/result.hpp>

#include <utility>

namespace durable::fs {

// Something that is full gives `unavailable`: the same call may succeed later. Anything else means
// that the store cannot be used.
[[nodiscard]] inline Error to_error(FileError error) {
    return {.code = error.out_of_resources() ? ErrorCode::unavailable : ErrorCode::storage_failed,
            .message = std::move(error.text),
            .operation = {}};
}

// The same for a whole result.
template <class T>
[[nodiscard]] Result<T> to_result(FileResult<T> result) {
    if (!result) {
        return std::unexpected{to_error(std::move(result).error())};
    }
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        return *std::move(result);
    }
}

} // namespace durable::fs
