// The one place where SQLite's error codes become ours.

#pragma once

#include <durable/result.hpp>

#include <string>
#include <string_view>

namespace durable::sqlite {

// `code` is an extended result code, `message` what SQLite says, `path` the file, `system` the
// errno that SQLite knows, 0 if none.
[[nodiscard]] Error
to_error(int code, std::string_view message, const std::string& path, int system = 0);

// Whether the disk was full.
[[nodiscard]] bool is_full(int code, int system);

// The file that is open is no longer the one with this name.
[[nodiscard]] Error file_is_gone(const std::string& path);

} // namespace durable::sqlite
