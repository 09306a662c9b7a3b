// Random numbers of the machine.

#include "base/random.hpp"

#include <cstdint>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace durable {
namespace {

TEST(SystemRandom, OfAChildProcessAreNotItsParents) {
    (void)system_random()->next(); // a block is drawn, of which the child has a copy
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);

    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const std::uint64_t number = system_random()->next();
        const bool told = ::write(ends[1], &number, sizeof number) == sizeof number;
        ::_exit(told ? 0 : 1);
    }
    std::uint64_t of_child = 0;
    ASSERT_EQ(::read(ends[0], &of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(ends[0]);
    ::close(ends[1]);

    EXPECT_EQ(status, 0);
    EXPECT_NE(of_child, system_random()->next());
}

} // namespace
} // namespace durable
