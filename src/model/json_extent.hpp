// Where a JSON object ends, found by its brackets and quotes alone: for texts that were checked
// when they were written, or that must only come back as they were.

#pragma once

#include "model/json_text.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace durable::wire {

// The length of the object at the beginning of `text`; 0 when it does not begin with '{', does not
// end, or has a control character (a line end, for one) anywhere. Nesting may be any depth.
[[nodiscard]] inline std::size_t object_extent(std::string_view text) noexcept {
    if (text.empty() || text[0] != '{') {
        return 0;
    }
    const char* at = text.data();
    const char* const end = at + text.size();
    std::size_t open = 0;
    while (at != end) {
        const char c = *at++;
        if (c == '"') {
            for (;;) {
                // Special bytes above 0x7F are marked too: step over them one by one.
                while (end - at >= 8) {
                    const auto marks = special_marks(load_eight(at));
                    if (marks != 0) {
                        at += bytes_before(marks);
                        break;
                    }
                    at += 8;
                }
                if (at == end || byte_of(*at) < 0x20) {
                    return 0;
                }
                if (*at == '"') {
                    ++at;
                    break;
                }
                const bool escape = *at++ == '\\';
                if (escape) {
                    if (at == end || byte_of(*at) < 0x20) {
                        return 0;
                    }
                    ++at;
                }
            }
        } else if (c == '{' || c == '[') {
            ++open;
        } else if (c == '}' || c == ']') {
            if (--open == 0) {
                return static_cast<std::size_t>(at - text.data());
            }
        } else if (byte_of(c) < 0x20) {
            return 0;
        }
    }
    return 0;
}

} // namespace durable::wire
