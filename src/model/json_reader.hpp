// JsonReader: a pull parser over one JSON text. The caller says what must come next; there is no
// document tree and no allocation but for the strings that are asked for.
//
// The first failure is kept with its byte offset; the reader moves to the end of the text, and
// every later call does nothing. So a caller may read on and check once, at the end.

#pragma once

#include "model/json_text.hpp"

#include <durable/result.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace durable::wire {

// The key of a member, or a string that names something.
struct JsonName {
    std::string_view text;  // unescaped; valid until the next name is read
    std::string_view raw;   // as it stands in the text, quotes included
    std::size_t offset = 0; // of the opening quote
};

class JsonReader {
 public:
    static constexpr unsigned max_depth = 64;

    // `depth`: how many containers already surround the text.
    explicit JsonReader(std::string_view text, unsigned depth = 0) noexcept
        : begin_{text.data()}, at_{begin_}, end_{begin_ + text.size()}, depth_{depth} {}

    [[nodiscard]] bool failed() const noexcept { return failed_; }
    [[nodiscard]] std::size_t offset() const noexcept { return offset_of(at_); }
    [[nodiscard]] std::unexpected<Error> error(std::string_view operation) const;
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

    // Keeps "byte 17: <what>" unless something failed before.
    void fail_at(std::size_t offset, std::string_view what);
    // Likewise, followed by a name of the text in quotes.
    void fail_at(std::size_t offset, std::string_view what, std::string_view name);
    void fail_here(std::string_view what) { fail_at(offset(), what); }

    // Each of these reads one value of exactly that type, or fails.
    void string(std::string& out);
    void number(std::uint64_t& out) {
        number_up_to(out, std::numeric_limits<std::uint64_t>::max());
    }
    void number(std::uint32_t& out) {
        std::uint64_t wide = 0;
        number_up_to(wide, std::numeric_limits<std::uint32_t>::max());
        out = static_cast<std::uint32_t>(wide);
    }
    void boolean(bool& out);
    [[nodiscard]] JsonName name();

    // True when the next value is null; consumes it then.
    [[nodiscard]] bool null();

    // The first character of the next value, like '{' or '"'; '\0' at the end of the text.
    [[nodiscard]] char peek() {
        skip_space();
        return at_ == end_ ? '\0' : *at_;
    }

    // Calls each(name) after every key; it must read the value.
    template <class Each>
    void object(Each&& each) {
        open('{');
        if (!failed_ && !accept('}')) {
            do {
                const JsonName key = name();
                expect(':');
                if (failed_) {
                    return;
                }
                each(key);
            } while (accept(','));
            expect('}');
        }
        --depth_;
    }

    // Calls each() before every element; it must read the element.
    template <class Each>
    void array(Each&& each) {
        open('[');
        if (!failed_ && !accept(']')) {
            do {
                each();
            } while (accept(','));
            expect(']');
        }
        --depth_;
    }

    // Reads members up to the end of the text: `"a":1,"b":2`, an object without its braces.
    template <class Each>
    void members(Each&& each) {
        do {
            const JsonName key = name();
            expect(':');
            if (failed_) {
                return;
            }
            each(key);
        } while (accept(','));
        finish();
    }

    // Reads any one value, checks it in full and returns its text.
    std::string_view skip();

    // Reads one object of any depth by its brackets and quotes alone and returns its text: for
    // values that were checked when they were written.
    std::string_view raw_object();

    // Called where the value of a member stands: the value of a later member `key` of the same
    // object, which must be a string, and where it stands. Does not move. Fails if there is none.
    [[nodiscard]] std::pair<std::string, std::size_t> look_ahead(std::string_view key);

    // Fails when anything but white space is left.
    void finish();

 private:
    [[nodiscard]] static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

    [[nodiscard]] std::size_t offset_of(const char* at) const noexcept {
        return static_cast<std::size_t>(at - begin_);
    }
    void skip_space() noexcept {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
    }
    [[nodiscard]] bool accept(char c) noexcept {
        skip_space();
        if (at_ != end_ && *at_ == c) {
            ++at_;
            return true;
        }
        return false;
    }
    void expect(char c) {
        if (!accept(c)) {
            expected(c);
        }
    }
    void open(char bracket);
    void expected(char c);
    void wrong_type(std::string_view what);
    [[nodiscard]] std::string_view found() const;
    void number_up_to(std::uint64_t& out, std::uint64_t most);

    // The text between the quotes of the next string, checked in full.
    std::string_view raw_string(bool& escaped);
    [[nodiscard]] std::size_t escape_length(const char* at);
    void skip_key();
    void skip_scalar();
    void skip_number();
    [[nodiscard]] bool skip_digits() noexcept;
    [[nodiscard]] bool skip_literal(std::string_view literal) noexcept;

    const char* begin_;
    const char* at_;
    const char* end_;
    unsigned depth_;
    bool failed_ = false;
    std::string failure_;
    std::string unescaped_name_;
};

} // namespace durable::wire
