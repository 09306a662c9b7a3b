// ForeignWatch: a thread that looks around now and then, while there is a reason to: for what
// another process has changed, while anybody waits for that (SQLite has no notifications: one has
// to ask again and again), and for what is still to be written to the disk.

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace durable::sqlite {

class ForeignWatch {
 public:
    // Half of what a waiter may be late.
    static constexpr std::chrono::milliseconds interval{20};

    // Sleeps for so long, or until it is asked to stop.
    using Pause = std::function<void(const std::stop_token&, std::chrono::milliseconds)>;

    // `look` answers false when there is no more reason to.
    explicit ForeignWatch(std::function<bool()> look, Pause pause = sleep)
        : look_{std::move(look)},
          pause_{std::move(pause)},
          thread_{[this](const std::stop_token& stop) { run(stop); }} {}

    // There is a reason to look, within the interval.
    void begin() {
        {
            const std::scoped_lock lock{mutex_};
            if (watching_) {
                return;
            }
            watching_ = true;
        }
        wake_.notify_one();
    }

 private:
    static void sleep(const std::stop_token& stop, std::chrono::milliseconds time) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock{mutex};
        (void)stopped.wait_for(lock, stop, time, [] { return false; });
    }

    void run(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (wake_.wait(lock, stop, [this] { return watching_; }) && !stop.stop_requested()) {
            lock.unlock();
            pause_(stop, interval);
            lock.lock();
            watching_ = false; // begin() may say otherwise while we look
            lock.unlock();
            const auto wanted = look_();
            lock.lock();
            watching_ = watching_ || wanted;
        }
    }

    const std::function<bool()> look_;
    const Pause pause_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool watching_ = false;
    std::jthread thread_; // last: uses everything above
};

} // namespace durable::sqlite
