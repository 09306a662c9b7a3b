#include "validation/support/expect.hpp"

#include <algorithm>
#include <barrier>
#include <cctype>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace durable::validation {

namespace {

// "atomicity.cpp:42": without the directory, which is that of the build machine.
std::string line_of(Where where) {
    std::string_view file = where.file_name();
    file.remove_prefix(file.find_last_of('/') + 1); // npos + 1 is 0
    return std::string{file} + ":" + std::to_string(where.line());
}

std::string lower(std::string_view text) {
    std::string lowered{text};
    std::ranges::transform(lowered, lowered.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    return lowered;
}

} // namespace

void fail_check(std::string_view message, Where where) {
    throw CheckFailed{line_of(where) + ": " + std::string{message}};
}

void skip(const std::string& reason) {
    throw CheckSkipped{reason};
}

void expect(bool holds, std::string_view sentence, Where where) {
    if (!holds) {
        fail_check("does not hold: " + std::string{sentence}, where);
    }
}

namespace detail {

void fail_comparison(std::string_view sentence,
                     const std::string& wanted,
                     const std::string& got,
                     Where where) {
    fail_check("does not hold: " + std::string{sentence} + "; expected " + wanted + ", got " + got,
               where);
}

void fail_with(const Error& error, std::string_view sentence, Where where) {
    fail_comparison(sentence, "success", "error " + show(error), where);
}

} // namespace detail

void expect_mentions(std::string_view text,
                     std::string_view part,
                     std::string_view sentence,
                     Where where) {
    if (!lower(text).contains(lower(part))) {
        detail::fail_comparison(sentence, "a text with " + show(part), show(text), where);
    }
}

void need(const Result<>& hook, Where where) {
    if (hook) {
        return;
    }
    if (hook.error().code == ErrorCode::unsupported) {
        skip(hook.error().text());
    }
    detail::fail_with(hook.error(), "the factory's hook works", where);
}

void all_at_once(std::size_t count, const std::function<void(std::size_t)>& body) {
    std::barrier together{static_cast<std::ptrdiff_t>(count)};
    std::mutex mutex;
    std::exception_ptr first;
    {
        std::vector<std::jthread> threads;
        threads.reserve(count);
        for (std::size_t index = 0; index < count; ++index) {
            threads.emplace_back([&, index] {
                together.arrive_and_wait();
                try {
                    body(index);
                } catch (...) {
                    const std::scoped_lock lock{mutex};
                    first = first ? first : std::current_exception();
                }
            });
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

} // namespace durable::validation
