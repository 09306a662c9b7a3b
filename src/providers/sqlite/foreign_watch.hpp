// ForeignWatch: a thread that notices when another process has changed the file, while anybody
// waits for that. SQLite has no notifications: it asks for the version of the data again and again.

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

    // `look` compares and wakes; it answers false when nobody waits any more.
    explicit ForeignWatch(std::function<bool()> look)
        : look_{std::move(look)}, thread_{[this](const std::stop_token& stop) { run(stop); }} {}

    // Somebody waits.
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
    void run(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (wake_.wait(lock, stop, [this] { return watching_; })) {
            lock.unlock();
            const auto wanted = look_();
            lock.lock();
            watching_ = wanted;
            if (wanted) {
                (void)wake_.wait_for(lock, stop, interval, [] { return false; });
            }
        }
    }

    const std::function<bool()> look_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool watching_ = false;
    std::jthread thread_; // last: uses everything above
};

} // namespace durable::sqlite
