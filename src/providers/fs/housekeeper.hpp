// Housekeeper: a thread that makes checkpoints, packs, views and spare segments beside the calls.
// FsProvider owns it and calls ask() when a call finds that there is something to do; without asks
// the thread sleeps.

#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace durable::fs {

class Housekeeper {
 public:
    // `tidy` is called on the thread, once for all asks that came before it began.
    explicit Housekeeper(std::function<void()> tidy)
        : tidy_{std::move(tidy)}, thread_{[this](const std::stop_token& stop) { run(stop); }} {}

    // From any thread.
    void ask() {
        {
            const std::scoped_lock lock{mutex_};
            if (asked_) {
                return;
            }
            asked_ = true;
        }
        wake_.notify_one();
    }

 private:
    void run(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (wake_.wait(lock, stop, [this] { return asked_; })) {
            asked_ = false;
            lock.unlock();
            tidy_();
            lock.lock();
        }
    }

    const std::function<void()> tidy_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool asked_ = false;
    std::jthread thread_; // last: uses everything above
};

} // namespace durable::fs
