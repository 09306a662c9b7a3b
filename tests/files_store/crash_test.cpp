// The store in examples/providers/files dies at every single call that changes the disk, and comes
// back with everything that was acknowledged and nothing half-done; and then goes on as if nothing
// had happened.

#include "files_store/script.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace files_store {
namespace {

// The process is gone: nothing after this call reaches the disk. Of what is being appended half
// does, because an append is no rename.
class Death {
 public:
    explicit Death(std::filesystem::path root, std::uint64_t call)
        : root_{std::move(root)}, call_{call} {}

    void operator()(std::string_view call, const std::string& file) {
        if (calls_++ < call_) {
            return;
        }
        if (calls_ == call_ + 1 && call == "write" && file.ends_with("history.jsonl")) {
            std::ofstream{root_ / file, std::ios::app} << R"({"event_id":99,"ki)";
        }
        throw std::runtime_error{"dead"};
    }
    [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
    std::filesystem::path root_;
    std::uint64_t call_;
    std::uint64_t calls_ = 0;
};

class FilesCrashTest : public ::testing::Test {
 protected:
    FilesCrashTest() {
        const auto store = open_on(fresh(), nullptr).value();
        states_.push_back(script_.describe(*store));
        for (std::size_t step = 0; step < script_.size(); ++step) {
            const auto played = script_.play(*store, step);
            EXPECT_TRUE(played) << script_.name(step) << ": " << played.error().text();
            script_.at(step + 1);
            states_.push_back(script_.describe(*store));
        }
    }

    std::filesystem::path fresh() { return scratch_.path() / std::to_string(++directories_); }
    durable::Result<std::shared_ptr<durable::Provider>> open_on(const std::filesystem::path& where,
                                                                Observer observer) {
        return open(where, {.clock = script_.clock(), .observer = std::move(observer)});
    }
    // Plays until a step fails; how many did not.
    std::size_t play(durable::Provider& store, std::size_t first = 0) {
        while (first < script_.size() && script_.play(store, first)) {
            ++first;
        }
        return first;
    }
    // A run that dies at this call. How many steps were acknowledged; nullopt: it did not die.
    std::optional<std::size_t> run_until(std::uint64_t call, const std::filesystem::path& where) {
        const auto death = std::make_shared<Death>(where, call);
        const auto store = open_on(where, [death](auto name, auto& file) { (*death)(name, file); });
        const auto acknowledged = store ? play(**store) : 0;
        return death->calls() > call ? std::optional{acknowledged} : std::nullopt;
    }
    void expect_recovery(const std::filesystem::path& where, std::size_t acknowledged) {
        const auto store = open_on(where, nullptr);
        ASSERT_TRUE(store) << store.error().text();
        script_.at(acknowledged);
        auto reached = acknowledged;
        if (script_.describe(**store) != states_[reached]) {
            script_.at(++reached);
        }
        ASSERT_LT(reached, states_.size());
        ASSERT_EQ(script_.describe(**store), states_[reached])
            << "after " << script_.name(acknowledged);
        ASSERT_EQ(play(**store, reached), script_.size());
        script_.at(script_.size());
        ASSERT_EQ(script_.describe(**store), states_.back());
    }

    Script script_;
    std::vector<std::string> states_; // after 0, 1, 2, ... steps
    ScratchDirectory scratch_;
    std::uint64_t directories_ = 0;
};

TEST_F(FilesCrashTest, AProcessThatDiesAtAnyCallLosesNothingAndHalvesNothing) {
    std::uint64_t call = 0;
    for (; !HasFatalFailure(); ++call) {
        SCOPED_TRACE("death at call " + std::to_string(call));
        const auto where = fresh();
        const auto acknowledged = run_until(call, where);
        if (!acknowledged) {
            break;
        }
        expect_recovery(where, *acknowledged);
        std::filesystem::remove_all(where);
    }
    std::cout << "calls to die at: " << call << '\n';
    EXPECT_GT(call, 300U);
}

TEST_F(FilesCrashTest, SoDoesOneThatDiesWhileItRecovers) {
    constexpr std::uint64_t stride = 7; // no divisor of what a change takes: all kinds come up
    std::uint64_t deaths = 0;
    for (std::uint64_t call = 0; !HasFatalFailure(); call += stride) {
        const auto where = fresh();
        const auto acknowledged = run_until(call, where);
        if (!acknowledged) {
            break;
        }
        std::filesystem::create_directories(where); // it may have died before that
        for (std::uint64_t second = 0; !HasFatalFailure(); ++second) {
            SCOPED_TRACE("death at call " + std::to_string(call) + ", then at call " +
                         std::to_string(second) + " of the recovery");
            const auto copy = fresh();
            std::filesystem::copy(where, copy, std::filesystem::copy_options::recursive);
            const auto death = std::make_shared<Death>(copy, second);
            (void)open_on(copy, [death](auto name, auto& file) { (*death)(name, file); });
            if (death->calls() <= second) {
                break;
            }
            ++deaths;
            expect_recovery(copy, *acknowledged);
            std::filesystem::remove_all(copy);
        }
        std::filesystem::remove_all(where);
    }
    std::cout << "deaths in a recovery: " << deaths << '\n';
    EXPECT_GT(deaths, 300U);
}

// Unavailable: nothing has happened, and the same call again succeeds. Storage failed: the store
// answers nothing else until it is opened again, and then the step has happened or not.
TEST_F(FilesCrashTest, ADiskThatRefusesAnyOneCallIsToldAsSuch) {
    std::uint64_t passed = 0;
    std::uint64_t failed = 0;
    for (std::uint64_t call = 0; !HasFatalFailure(); ++call) {
        SCOPED_TRACE("refusal of call " + std::to_string(call));
        const auto where = fresh();
        const auto calls = std::make_shared<std::uint64_t>(0);
        auto store = open_on(where, [=](auto, auto&) {
            if ((*calls)++ == call) {
                throw std::system_error{ENOSPC, std::generic_category()};
            }
        });
        if (!store) {
            ++passed;
            ASSERT_EQ(store.error().code, durable::ErrorCode::unavailable);
            expect_recovery(where, 0);
            continue;
        }
        const auto reached = play(**store);
        if (reached == script_.size()) {
            ASSERT_LE(*calls, call);
            break;
        }
        script_.clock()->advance(std::chrono::minutes{1}); // a lease that it holds is over
        const auto again = script_.play(**store, reached);
        if (again) {
            ++passed;
            ASSERT_EQ(play(**store, reached + 1), script_.size());
            script_.at(script_.size());
            ASSERT_EQ(script_.describe(**store), states_.back());
        } else {
            ++failed;
            ASSERT_EQ(again.error().code, durable::ErrorCode::storage_failed);
            store->reset();
            expect_recovery(where, reached);
        }
        std::filesystem::remove_all(where);
    }
    std::cout << "refused: " << passed << " passed, " << failed << " needed a reopen\n";
    EXPECT_GT(passed, 50U);
    EXPECT_GT(failed, 50U);
}

// A commit that were taken again by a later process would undo what came after it.
TEST_F(FilesCrashTest, ACommitThatIsDoneIsNotDoneAgain) {
    const auto where = fresh();
    auto store = open_on(where, nullptr).value();
    for (std::size_t step = 0; script_.name(step) != "an activity ends"; ++step) {
        ASSERT_TRUE(script_.play(*store, step));
    }
    const durable::FetchWork request{.lock_timeout = std::chrono::seconds{30}};
    const auto lease = store->fetch_work_item(request).value();
    ASSERT_TRUE(store->abandon_work_item(lease->lock_token, std::nullopt, false));

    store.reset();
    store = open_on(where, nullptr).value();

    EXPECT_EQ(store->fetch_work_item(request).value()->attempt_count, 2U);
}

TEST_F(FilesCrashTest, ASecondProcessIsTurnedAway) {
    const auto where = fresh();
    const auto store = open_on(where, nullptr);

    const auto second = open_on(where, nullptr);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, durable::ErrorCode::unavailable);
}

} // namespace
} // namespace files_store
