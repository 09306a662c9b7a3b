// JsonWriter: appends compact JSON to a string, fast.
//
// Text is gathered in a buffer on the stack with plain pointer writes and appended in few large
// pieces: std::string::append per token costs four times as much. Unless finish() succeeds, the
// appended text is removed again: a refused value leaves the caller's string as it was.

#pragma once

#include "model/json_text.hpp"

#include <durable/result.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace durable::wire {

class JsonWriter {
 public:
    explicit JsonWriter(std::string& out) : out_{out}, size_before_{out.size()} {}
    JsonWriter(const JsonWriter&) = delete;
    JsonWriter& operator=(const JsonWriter&) = delete;
    ~JsonWriter() {
        if (!finished_) {
            out_.resize(size_before_);
        }
    }

    // Brackets, keys and literals of a length known at compile time.
    template <std::size_t N>
    void literal(const char (&text)[N]) {
        token(std::string_view{text, N - 1});
    }
    void token(std::string_view text) {
        if (text.size() > room()) {
            flush();
            if (text.size() > buffer_.size()) {
                out_.append(text);
                return;
            }
        }
        std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }

    void number(std::uint64_t value) {
        constexpr std::size_t most_digits = 20;
        reserve(most_digits);
        at_ = std::to_chars(at_, at_ + most_digits, value).ptr;
    }
    void boolean(bool value) {
        token(value ? std::string_view{"true"} : std::string_view{"false"});
    }
    void null() { literal("null"); }

    // A string in quotes, escaped. `member` is named in the refusal when the bytes are not UTF-8.
    void string(std::string_view value, std::string_view member);

    // How many objects are open: the caller that writes a brace counts it.
    void enter() { ++depth_; }
    void leave() { --depth_; }
    [[nodiscard]] unsigned depth() const { return depth_; }

    // Makes finish() fail. Only the first refusal is kept.
    void refuse(std::string reason) {
        if (refusal_.empty()) {
            refusal_ = std::move(reason);
        }
    }

    // The last call. Fails with the refusal, if there was one.
    [[nodiscard]] Result<> finish(std::string_view operation) {
        if (!refusal_.empty()) {
            return fail(ErrorCode::invalid_argument, std::move(refusal_), std::string{operation});
        }
        flush();
        finished_ = true;
        return {};
    }

 private:
    static constexpr std::size_t longest_escape = 6; // \u001f

    [[nodiscard]] std::size_t room() const {
        return static_cast<std::size_t>(buffer_.data() + buffer_.size() - at_);
    }
    void reserve(std::size_t size) {
        if (room() < size) {
            flush();
        }
    }
    void flush() {
        out_.append(buffer_.data(), static_cast<std::size_t>(at_ - buffer_.data()));
        at_ = buffer_.data();
    }

    std::string& out_;
    std::size_t size_before_;
    unsigned depth_ = 0;
    bool finished_ = false;
    std::string refusal_;
    std::array<char, 1024> buffer_; // NOLINT(cppcoreguidelines-pro-type-member-init): written first
    char* at_ = buffer_.data();
};

} // namespace durable::wire
