// Diary: what happened in one life of the worker process, written down as it happens.
//
// One line per entry, one write(2) each: what was written before a kill -9 is there after it, in
// order. A kill can cut off the last line only; that entry never happened.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace durable::kill_nine {

struct Entry {
    std::string what;
    std::string order;
    std::string detail;
    bool operator==(const Entry&) const = default;
};

// What the worker writes. Found, scheduled, recorded and broken come first, from a look into the
// store before anything runs; `ready` ends that look.
namespace entry {
inline constexpr std::string_view found = "found";         // the order exists; detail: its state
inline constexpr std::string_view scheduled = "scheduled"; // detail: a step that the history has
inline constexpr std::string_view recorded = "recorded";   // detail: a step whose end is stored
inline constexpr std::string_view broken = "broken";       // detail: what is wrong in the history
inline constexpr std::string_view ready = "ready";
inline constexpr std::string_view sends = "sends";     // about to start an order
inline constexpr std::string_view started = "started"; // the store has acknowledged it
inline constexpr std::string_view ran = "ran";         // detail: a step that is really being done
inline constexpr std::string_view ended = "ended";     // a client was told; detail: the result
inline constexpr std::string_view deletes = "deletes";
inline constexpr std::string_view deleted = "deleted"; // the store has acknowledged it
} // namespace entry

// States of a found order.
inline constexpr std::string_view running = "running";     // or not begun
inline constexpr std::string_view completed = "completed"; // followed by ' ' and the result

class Diary {
 public:
    explicit Diary(const std::string& path); // throws std::system_error
    Diary(const Diary&) = delete;
    Diary& operator=(const Diary&) = delete;
    ~Diary();

    // Any thread.
    void note(std::string_view what, std::string_view order = {}, std::string_view detail = {});

 private:
    int file_;
};

// Throws std::runtime_error when something other than the last line does not read.
[[nodiscard]] std::vector<Entry> read_diary(std::string_view text);

} // namespace durable::kill_nine
