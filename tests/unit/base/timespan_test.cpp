// Durations of any unit become milliseconds without overflow.

#include <durable/time.hpp>

#include <cstdint>
#include <limits>
#include <ratio>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

TEST(Timespan, IsTheSameTimeInMilliseconds) {
    static_assert(Timespan{} == Duration::zero());
    static_assert(Timespan{5ms} == 5ms);
    static_assert(Timespan{2s} == 2000ms);
    static_assert(Timespan{-3h} == -3h);
    static_assert(Timespan{std::chrono::years{1000}} == std::chrono::years{1000});
    static_assert(Timespan{Duration::max()} == Duration::max());
    static_assert(Timespan{Duration::min()} == Duration::min());
}

TEST(Timespan, RoundsFractionsUp) {
    static_assert(Timespan{1us} == 1ms);
    static_assert(Timespan{1000us} == 1ms);
    static_assert(Timespan{1001us} == 2ms);
    static_assert(Timespan{1ns} == 1ms);
    static_assert(Timespan{-1us} == 0ms);
    static_assert(Timespan{-1001us} == -1ms);
    static_assert(Timespan{std::chrono::duration<int, std::ratio<1, 60>>{1}} == 17ms);
    static_assert(Timespan{std::chrono::duration<int, std::ratio<1, 60>>{90}} == 1500ms);
}

TEST(Timespan, IsForEverWhenItIsTooLong) {
    static_assert(Timespan{std::chrono::hours::max()} == Duration::max());
    static_assert(Timespan{std::chrono::seconds::max()} == Duration::max());
    static_assert(Timespan{std::chrono::hours::min()} == Duration::min());
    static_assert(Timespan{std::chrono::nanoseconds::max()} < std::chrono::years{293});
    static_assert(Timespan{std::chrono::duration<std::uint64_t>{
                      std::numeric_limits<std::uint64_t>::max()}} == Duration::max());
}

TEST(Timespan, ComparesAndComputesLikeADuration) {
    const Timespan span = 1min;
    const Duration half = span / 2;

    EXPECT_EQ(half, 30s);
    EXPECT_EQ(span + half, 90s);
    EXPECT_LT(half, span);
    EXPECT_EQ(span.count(), 60'000);
}

} // namespace
} // namespace durable
