// Sleeping until a word in memory changes: the system call below every mutex.
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

// Sleeps while the word has that value, at most so long; may return early. Callers look again.
void sleep_while(FutexWord& word, std::uint32_t value, Duration longest = Duration::max());
// As one of those whom wake_those tells apart by their bits.
void sleep_while(FutexWord& word, std::uint32_t value, std::uint32_t bits);

// Wakes threads that sleep because of the word. It must still exist: whoever was woken otherwise
// may have destroyed it.
void wake_one(FutexWord& word);
void wake_all(FutexWord& word);
void wake_those(FutexWord& word, std::uint32_t bits); // who have one of these

} // namespace durable
