// How often a store looks for what other processes have done, and that another process is noticed.

#include "unit/sqlite/sqlite_fixture.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

// What is promised: the pause, and as much again for the look itself.
constexpr Duration noticed_within = 50ms;

// Pauses take no time, and are written down.
struct Pauses {
    void operator()(const std::stop_token&, std::chrono::milliseconds time) {
        const std::scoped_lock lock{mutex};
        taken.push_back(time);
    }
    std::mutex mutex;
    std::vector<std::chrono::milliseconds> taken;
};

void await(const std::atomic<int>& counter, int value) {
    while (counter < value) {
        std::this_thread::yield();
    }
}

TEST(SqliteForeignWatch, LooksAfterEachShortPauseForAsLongAsThereIsAReason) {
    Pauses pauses;
    std::atomic<int> looks = 0;
    constexpr int wanted = 5;
    ForeignWatch watch{[&] { return ++looks < wanted; }, std::ref(pauses)};

    watch.begin();
    await(looks, wanted);
    watch.begin();
    await(looks, wanted + 1); // one more look, not two

    const std::scoped_lock lock{pauses.mutex};
    ASSERT_EQ(pauses.taken.size(), static_cast<std::size_t>(wanted + 1));
    for (const auto pause : pauses.taken) {
        EXPECT_LE(2 * pause, noticed_within);
    }
}

TEST(SqliteForeignWatch, SleepsUntilThereIsAReason) {
    Pauses pauses;
    std::atomic<int> looks = 0;
    {
        ForeignWatch watch{[&] { return ++looks < 1; }, std::ref(pauses)};
        watch.begin();
        await(looks, 1);
    }
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(pauses.taken.size(), 1U);
}

// ---- A process of its own

// Makes a start for every byte that it is sent, and answers each one when it is made. To be
// begun while this process has one thread and no store.
class OtherProcess {
 public:
    explicit OtherProcess(const std::function<bool(int)>& serve) {
        EXPECT_EQ(::pipe(orders_.data()), 0);
        EXPECT_EQ(::pipe(answers_.data()), 0);
        (void)std::fflush(nullptr); // what is still to be written is not written twice
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(orders_[1]);
            auto good = true;
            char byte = 0;
            for (int number = 0; good && ::read(orders_[0], &byte, 1) == 1; ++number) {
                good = serve(number) && ::write(answers_[1], &byte, 1) == 1;
            }
            ::_exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        ::close(orders_[0]);
        ::close(answers_[1]);
    }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;
    ~OtherProcess() {
        ::close(orders_[1]);
        ::close(answers_[0]);
        int status = 0;
        EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
        EXPECT_EQ(status, 0);
    }

    // Returns when it has made one.
    void act() const {
        char byte = '+';
        ASSERT_EQ(::write(orders_[1], &byte, 1), 1);
        ASSERT_EQ(::read(answers_[0], &byte, 1), 1);
    }

 private:
    pid_t pid_ = 0;
    std::array<int, 2> orders_{};
    std::array<int, 2> answers_{};
};

class SqliteOtherProcess : public SqliteTest {};

// A busy machine may be late any time, but not every time: the best of some tries tells.
TEST_F(SqliteOtherProcess, ItsCommitsWakeAFetchHere) {
    std::shared_ptr<SqliteProvider> there;
    const OtherProcess other{[&](int number) {
        if (!there) {
            there = open({.clock = system_clock()});
        }
        return there->enqueue_for_orchestrator(start("A" + std::to_string(number)), std::nullopt)
            .has_value();
    }};
    const auto here = open({.clock = system_clock()});
    auto best = Duration::max();
    for (int number = 0; number < 10 && best > noticed_within; ++number) {
        SteadyInstant woken;
        std::jthread engine{[&] {
            const auto turn =
                here->fetch_orchestration_item({.lock_timeout = 60s, .poll_timeout = 60s}).value();
            EXPECT_TRUE(turn) << "it was never noticed";
            woken = system_clock()->steady();
        }};
        while (here->sleepers() == 0) {
            std::this_thread::yield();
        }
        other.act();
        const auto done = system_clock()->steady();
        engine.join();
        best = std::min(best, woken - done);
    }
    EXPECT_LE(best, noticed_within);
}

} // namespace
} // namespace durable::sqlite
