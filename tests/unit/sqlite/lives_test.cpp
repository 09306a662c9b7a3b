// A process that is gone holds no leases; one that is there keeps its own. Real processes, and real
// kill -9.

#include "unit/sqlite/neighbour.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteLives : public SqliteTest {
 protected:
    // Real time: the processes share it.
    [[nodiscard]] Result<std::shared_ptr<SqliteProvider>> try_to_open(Machine machine = {}) const {
        return SqliteProvider::open(path, {.synchronous = Synchronous::normal}, std::move(machine));
    }
    [[nodiscard]] std::shared_ptr<SqliteProvider> open_here(Machine machine = {}) const {
        auto opened = try_to_open(std::move(machine));
        EXPECT_TRUE(opened) << opened.error().text();
        return opened.value_or(nullptr);
    }
    static bool take_turn(Provider& store) {
        const auto turn = store.fetch_orchestration_item({.lock_timeout = 1h});
        return turn && turn->has_value();
    }
    static bool take_work(Provider& store) {
        const auto work = store.fetch_work_item({.lock_timeout = 1h});
        return work && work->has_value();
    }
    static bool take_of_session(Provider& store, const std::string& owner) {
        const auto work = store.fetch_work_item(
            {.lock_timeout = 1h, .session = SessionClaim{.owner_id = owner, .lock_timeout = 1h}});
        return work && work->has_value();
    }
    static void add_one_of_each(Provider& store) {
        ASSERT_TRUE(store.enqueue_for_orchestrator(start("A"), std::nullopt));
        ASSERT_TRUE(store.enqueue_for_worker(activity("A", 1)));
    }
    // Opens the store, takes a turn and an activity, and has the store open ever after.
    [[nodiscard]] std::function<bool()> take_both(Machine machine = {}) const {
        return [this, machine] {
            static auto& store = *new std::shared_ptr<SqliteProvider>; // of the other process
            store = open_here(machine);
            return store && take_turn(*store) && take_work(*store);
        };
    }
};

TEST_F(SqliteLives, TheLeasesOfAProcessThatIsGoneAreOverWhenTheStoreIsOpened) {
    Neighbour neighbour{take_both()};
    add_one_of_each(*open_here());
    neighbour.go();
    EXPECT_FALSE(take_turn(*open_here())) << "the neighbour has it";
    neighbour.kill();

    const auto store = open_here();

    EXPECT_TRUE(take_turn(*store));
    EXPECT_TRUE(take_work(*store));
}

TEST_F(SqliteLives, TheLeasesOfAProcessThatIsGoneGoToThoseWhoWait) {
    Neighbour neighbour{take_both()};
    const auto store = open_here();
    add_one_of_each(*store);
    neighbour.go();
    std::optional<WorkLease> work;
    {
        const std::jthread worker{[&] {
            work = store->fetch_work_item({.lock_timeout = 1h, .poll_timeout = 20s}).value();
        }};
        while (store->sleepers() == 0) {
            std::this_thread::yield();
        }
        neighbour.kill();
    }
    ASSERT_TRUE(work) << "nobody noticed";
    EXPECT_EQ(work->attempt_count, 2U);
}

TEST_F(SqliteLives, TheSessionsOfAProcessThatIsGoneAreOver) {
    Neighbour neighbour{[this] {
        static auto& store = *new std::shared_ptr<SqliteProvider>;
        store = open_here();
        return store && take_of_session(*store, "neighbour");
    }};
    {
        const auto store = open_here();
        for (const std::uint64_t id : {1U, 2U}) {
            auto item = std::get<work::ActivityExecute>(activity("A", id));
            item.session_id = "s";
            ASSERT_TRUE(store->enqueue_for_worker(item));
        }
        neighbour.go();
        EXPECT_FALSE(take_of_session(*store, "me")) << "the neighbour has the session";
        neighbour.kill();
    }
    const auto store = open_here();

    EXPECT_TRUE(take_of_session(*store, "me"));
    EXPECT_TRUE(take_of_session(*store, "me"));
}

TEST_F(SqliteLives, AProcessThatIsThereKeepsItsLeases) {
    Neighbour neighbour{take_both()};
    add_one_of_each(*open_here());
    neighbour.go();

    for (int opened = 0; opened < 3; ++opened) {
        const auto store = open_here();
        EXPECT_FALSE(take_turn(*store));
        EXPECT_FALSE(take_work(*store));
    }
}

TEST_F(SqliteLives, OtherStoresOfTheSameProcessTakeNothingFromIt) {
    const auto store = open_here();
    add_one_of_each(*store);
    ASSERT_TRUE(take_turn(*store));
    ASSERT_TRUE(take_work(*store));
    for (int opened = 0; opened < 3; ++opened) {
        const auto other = open_here();
        EXPECT_FALSE(take_turn(*other));
        EXPECT_FALSE(take_work(*other));
    }
}

// The process goes on, and with it perhaps the activity.
TEST_F(SqliteLives, AStoreThatIsClosedKeepsItsLeasesAsLongAsTheyLast) {
    {
        const auto store = open_here();
        add_one_of_each(*store);
        ASSERT_TRUE(take_turn(*store));
        ASSERT_TRUE(take_work(*store));
    }
    const auto store = open_here();
    EXPECT_FALSE(take_turn(*store));
    EXPECT_FALSE(take_work(*store));
}

TEST_F(SqliteLives, AStoreThatIsClosedWhileAnotherProgramHoldsTheFileKeepsItsLeases) {
    Outsider other{path};
    {
        const auto store = open_here();
        add_one_of_each(*store);
        ASSERT_TRUE(take_turn(*store));
        other.query("BEGIN IMMEDIATE");
    }
    other.query("COMMIT");

    EXPECT_FALSE(take_turn(*open_here()));
}

TEST_F(SqliteLives, AChildThatEndsTakesNothingFromItsParent) {
    const auto store = open_here();
    add_one_of_each(*store);
    ASSERT_TRUE(take_turn(*store));
    const auto child = ::fork();
    if (child == 0) {
        ::close_range(3, ~0U, 0);
        ::_exit(EXIT_SUCCESS);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }

    EXPECT_FALSE(take_turn(*open_here()));
}

TEST_F(SqliteLives, WhoeverRemovesTheFileOfLivesEndsNoLease) {
    Neighbour neighbour{take_both()};
    add_one_of_each(*open_here());
    neighbour.go();
    ASSERT_TRUE(std::filesystem::remove(path + "-lives"));

    EXPECT_FALSE(take_turn(*open_here()));
    EXPECT_FALSE(take_turn(*open_here()));
}

TEST_F(SqliteLives, WhereLocksMayBeLostLeasesEndByTimeAlone) {
    const Machine machine{.keeps_locks = false};
    Neighbour neighbour{take_both(machine)};
    add_one_of_each(*open_here(machine));
    neighbour.go();
    neighbour.kill();

    EXPECT_FALSE(take_turn(*open_here(machine)));
    EXPECT_FALSE(take_turn(*open_here()));
}

TEST_F(SqliteLives, AFileOfLivesThatIsALinkIsNotFollowed) {
    std::filesystem::create_symlink("elsewhere", path + "-lives");

    const auto store = open_here();

    EXPECT_TRUE(store);
    EXPECT_FALSE(std::filesystem::exists(directory.path() + "/elsewhere"));
}

} // namespace
} // namespace durable::sqlite
