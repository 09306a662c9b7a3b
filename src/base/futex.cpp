#include "base/futex.hpp"

#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace durable {

namespace {

void wake(FutexWord& word, int most) {
    (void)::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

} // namespace

void sleep_while(FutexWord& word, std::uint32_t value, Duration longest) {
    constexpr Duration most = std::chrono::hours{24 * 365};
    if (longest > most) {
        (void)::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
        return;
    }
    const auto nanoseconds = std::chrono::nanoseconds{longest};
    constexpr auto per_second = std::chrono::nanoseconds{std::chrono::seconds{1}}.count();
    const timespec limit{.tv_sec = nanoseconds.count() / per_second,
                         .tv_nsec = nanoseconds.count() % per_second};
    (void)::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void sleep_while(FutexWord& word, std::uint32_t value, std::uint32_t bits) {
    (void)::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, nullptr, nullptr, bits);
}

void wake_one(FutexWord& word) {
    wake(word, 1);
}

void wake_all(FutexWord& word) {
    wake(word, INT_MAX);
}

void wake_those(FutexWord& word, std::uint32_t bits) {
    (void)::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, bits);
}

} // namespace durable
