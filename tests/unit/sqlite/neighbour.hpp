// Neighbour: another process that uses a store until it is killed.

#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace durable::sqlite {

// Does something and then stays until it is killed. Made before this process has threads: what it
// does begins when it is told to.
class Neighbour {
 public:
    explicit Neighbour(const std::function<bool()>& deed) {
        std::array<int, 2> to_it{};
        std::array<int, 2> from_it{};
        EXPECT_EQ(::pipe2(to_it.data(), 0), 0);
        EXPECT_EQ(::pipe2(from_it.data(), 0), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            char byte = 0;
            if (::read(to_it[0], &byte, 1) != 1) {
                ::_exit(EXIT_SUCCESS); // the test has failed before
            }
            byte = deed() ? '+' : '-';
            if (::write(from_it[1], &byte, 1) != 1) {
                ::_exit(EXIT_FAILURE);
            }
            for (;;) {
                ::pause();
            }
        }
        ::close(to_it[0]);
        ::close(from_it[1]);
        to_it_ = to_it[1];
        from_it_ = from_it[0];
    }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;
    ~Neighbour() {
        kill();
        ::close(to_it_);
        ::close(from_it_);
    }

    // Returns when its deed is done.
    void go() const {
        char byte = '!';
        ASSERT_EQ(::write(to_it_, &byte, 1), 1);
        ASSERT_EQ(::read(from_it_, &byte, 1), 1);
        ASSERT_EQ(byte, '+') << "it could not do what it was told to";
    }
    void kill() {
        if (pid_ <= 0) {
            return;
        }
        ::kill(pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = 0;
    }

 private:
    pid_t pid_ = 0;
    int to_it_ = -1;
    int from_it_ = -1;
};

} // namespace durable::sqlite
