// ForeignWatch: a thread that polls the store. SqliteProvider owns it and calls begin() when a
// waiter comes (SQLite does not notify of changes by another process) or when a commit is not on
// the disk yet. The thread calls `look` once per interval until `look` answers false, then sleeps
// until the next begin().

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
    // A waiter hears of a change by another process at most about twice as late.
    static constexpr std::chrono::milliseconds interval{20};

    // Sleeps for that long, or until a stop is requested.
    using Pause = std::function<void(const std::stop_token&, std::chrono::milliseconds)>;

    // `look` answers whether it has to be called again.
    explicit ForeignWatch(std::function<bool()> look, Pause pause = sleep)
        : look_{std::move(look)},
          pause_{std::move(pause)},
          thread_{[this](const std::stop_token& stop) { run(stop); }} {}

    // From any thread: `look` is called within the interval.
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
            watching_ = false; // a begin() during the look sets it again
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
