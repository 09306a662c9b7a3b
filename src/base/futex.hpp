// Sleeping until a word in memory changes: the futex system call. Mutex, WakeUp, Signal and the
// group commits of the stores use it; any thread may call.
//
// Not std::atomic's own wait: it calls sched_yield some times first, which costs more than it saves
// when dozens of threads wait for the same thing, and it knows no time limit.

#pragma once

#include <durable/time.hpp>

#include <atomic>
#include <cstdint>

namespace durable {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(std::uint32_t));

// Sleeps while the word has that value, at most `longest`. May return early: callers check again.
void sleep_while(FutexWord& word, std::uint32_t value, Duration longest = Duration::max());
// The same with a bit set: only wake_all, or wake_those with one of these bits, wakes the sleeper.
// Many waiters can so share one word.
void sleep_while(FutexWord& word, std::uint32_t value, std::uint32_t bits);

// Wakes threads that sleep on the word. It must still exist: a sleeper that woke up by itself may
// have destroyed it.
void wake_one(FutexWord& word);
void wake_all(FutexWord& word);
void wake_those(FutexWord& word, std::uint32_t bits); // all sleepers with one of these bits

} // namespace durable
