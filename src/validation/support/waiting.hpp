// Waiting: a call that is expected to wait, made on a thread of its own, so that the check can
// watch it and wake it.

#pragma once

#include "validation/support/expect.hpp"
#include "validation/support/support.hpp"

#include <durable/time.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

namespace durable::validation {

// How long a call may take that has nothing to wait for; real time, generous for busy machines.
inline constexpr Duration patience = std::chrono::seconds{10};

// How long a wait may last, for checks that mean to end it otherwise.
inline constexpr Duration long_poll = std::chrono::seconds{20};

template <class T>
class Waiting {
 public:
    using Call = std::function<T(std::stop_token)>;

    Waiting(const Store& store, Call call)
        : store_{store},
          task_{std::move(call)},
          answer_{task_.get_future()},
          thread_{[this](const std::stop_token& stop) { task_(stop); }} {}
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    // Ends the call by all means, so that a broken provider cannot hang the suite.
    ~Waiting() {
        thread_.request_stop();
        if (!finished_within(patience)) {
            store_.pass_time(long_poll);
        }
    }

    // In real time: on a manual clock that stands still, a time limit would never pass.
    [[nodiscard]] bool finished_within(Duration real) const {
        return !answer_.valid() || answer_.wait_for(real) == std::future_status::ready;
    }
    // Leaves the call a moment to return although it should not.
    void expect_waiting(std::string_view sentence, Where where = Where::current()) const {
        expect(!finished_within(std::chrono::milliseconds{5}), sentence, where);
    }
    // The result; fails the check when the call still waits.
    [[nodiscard]] T answer(std::string_view sentence, Where where = Where::current()) {
        expect(finished_within(patience), sentence, where);
        return answer_.get();
    }
    void request_stop() { thread_.request_stop(); }

 private:
    const Store& store_;
    std::packaged_task<T(std::stop_token)> task_;
    std::future<T> answer_;
    std::jthread thread_; // last: joined before the rest goes
};

} // namespace durable::validation
