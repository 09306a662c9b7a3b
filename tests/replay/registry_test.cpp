// The registry: contracts, versions, and mistakes that are listed instead of thrown.

#include <durable/registry.hpp>

#include <functional>

#include <gtest/gtest.h>

namespace durable {

namespace {

constexpr Activity<std::string(std::string)> greet{"Greet"};
constexpr Activity<int()> answer{"Answer"};
constexpr Activity<void(int)> note{"Note"};
constexpr Orchestration<std::string(std::string)> hello{"Hello"};

Task<std::string> hello_v1(Context, std::string name) {
    co_return "1 " + name;
}
Task<std::string> hello_v2(Context, std::string name) {
    co_return "2 " + name;
}

TEST(Registry, RunsAnActivityWithItsInput) {
    Registry registry;
    registry.add(greet, [](const std::string& name) { return "Hello, " + name; });
    auto ctx = ActivityContext{ActivityInfo{}, {}};

    EXPECT_EQ((*registry.find_activity("Greet"))(ctx, "world"), "Hello, world");
}

TEST(Registry, GivesAnActivityItsContextIfItAsks) {
    Registry registry;
    registry
        .add(greet,
             [](ActivityContext& ctx, const std::string& name) { return ctx.instance() + name; })
        .add(answer, [](ActivityContext& ctx) { return static_cast<int>(ctx.attempt()) + 41; })
        .add(note, [](int) {});
    auto ctx = ActivityContext{ActivityInfo{.instance = "order-7 "}, {}};

    EXPECT_EQ((*registry.find_activity("Greet"))(ctx, "x"), "order-7 x");
    EXPECT_EQ((*registry.find_activity("Answer"))(ctx, "null"), "42");
    EXPECT_EQ((*registry.find_activity("Note"))(ctx, "5"), "null");
}

TEST(Registry, AnInputThatDoesNotFitIsAFailure) {
    Registry registry;
    registry.add(note, [](int) {});
    auto ctx = ActivityContext{ActivityInfo{}, {}};

    try {
        (*registry.find_activity("Note"))(ctx, "many");
        FAIL() << "expected a failure";
    } catch (const OperationFailed& failed) {
        EXPECT_EQ(failed.failure().kind, failure_kind::bad_payload);
    }
}

TEST(Registry, FindsNothingUnderAnUnknownName) {
    const Registry registry;
    EXPECT_EQ(registry.find_activity("Nobody"), nullptr);
    EXPECT_EQ(registry.find_orchestration("Nobody"), nullptr);
    EXPECT_TRUE(registry.versions("Nobody").empty());
}

TEST(Registry, TheNewestVersionIsTheDefault) {
    Registry registry;
    registry.add(hello, "2.0.0", hello_v2).add(hello, hello_v1).add(hello, "1.10.0", hello_v1);

    EXPECT_EQ(registry.find_orchestration("Hello")->version_text, "2.0.0");
    EXPECT_EQ(registry.versions("Hello"), (std::vector<Version>{{1, 0, 0}, {1, 10, 0}, {2, 0, 0}}));
}

TEST(Registry, AnExactVersionIsFoundOrNotAtAll) {
    Registry registry;
    registry.add(hello, hello_v1).add(hello, "2.0.0", hello_v2);

    EXPECT_EQ(registry.find_orchestration("Hello", Version{1, 0, 0})->version_text, "1.0.0");
    EXPECT_EQ(registry.find_orchestration("Hello", Version{3, 0, 0}), nullptr);
}

TEST(Registry, PinnedVersionsComeBeforeTheNewest) {
    Registry registry;
    registry.add(hello, hello_v1).add(hello, "2.0.0", hello_v2).pin(hello, "1.0.0");

    EXPECT_EQ(registry.find_orchestration("Hello")->version_text, "1.0.0");
    EXPECT_EQ(registry.find_orchestration("Hello", Version{2, 0, 0})->version_text, "2.0.0");
    EXPECT_TRUE(registry.problems().empty());
}

TEST(Registry, ListsItsMistakesByName) {
    Registry registry;
    registry.add(hello, hello_v1)
        .add(hello, hello_v2)
        .add(hello, "two", hello_v2)
        .add(greet, [](const std::string& name) { return name; })
        .add(greet, [](const std::string& name) { return name; })
        .add_raw_activity("no spaces", [](ActivityContext&, std::string_view) { return ""; })
        .add_raw_activity("__mine", [](ActivityContext&, std::string_view) { return ""; })
        .pin(hello, "9.9.9");

    EXPECT_EQ(registry.problems(),
              (std::vector<std::string>{
                  "orchestration 'Hello' version 1.0.0 is bound twice",
                  "orchestration 'Hello': 'two' is no version: write three numbers, like 1.2.3",
                  "activity 'Greet' is bound twice",
                  "activity 'no spaces': a durable name consists of letters, digits, '_', '-', "
                  "'.' and ':'",
                  "activity '__mine': a durable name must not begin with '__': such names are the "
                  "library's own",
                  "orchestration 'Hello' is pinned to version 9.9.9, which is not bound"}));
}

TEST(Registry, FunctionsThatAreNullAreMistakes) {
    constexpr Activity<void()> tick{"Tick"};
    constexpr Orchestration<std::string()> idle{"Idle"};
    Registry registry;
    registry.add(greet, std::function<std::string(std::string)>{})
        .add(tick, static_cast<void (*)()>(nullptr))
        .add(hello, static_cast<Task<std::string> (*)(Context, std::string)>(nullptr))
        .add(idle, static_cast<Task<std::string> (*)(Context)>(nullptr))
        .add_raw_activity("Raw", nullptr)
        .add_raw_orchestration("RawToo", "1.0.0", nullptr);

    EXPECT_EQ(registry.problems(),
              (std::vector<std::string>{
                  "activity 'Greet': there is no code: the function is null",
                  "activity 'Tick': there is no code: the function is null",
                  "orchestration 'Hello' version 1.0.0: there is no code: the function is null",
                  "orchestration 'Idle' version 1.0.0: there is no code: the function is null",
                  "activity 'Raw': there is no code: the function is null",
                  "orchestration 'RawToo' version 1.0.0: there is no code: the function is null"}));
}

TEST(Registry, MergesWhatLibrariesBring) {
    Registry library;
    library.add(hello, "2.0.0", hello_v2).add(answer, [] { return 42; });
    Registry mine;
    mine.add(hello, hello_v1);

    mine.merge(library);

    EXPECT_EQ(mine.versions("Hello").size(), 2u);
    EXPECT_NE(mine.find_activity("Answer"), nullptr);
    EXPECT_TRUE(mine.problems().empty());
    mine.merge(library);
    EXPECT_EQ(mine.problems().size(), 2u);
}

TEST(Registry, ListsNames) {
    Registry registry;
    registry.add(note, [](int) {}).add(answer, [] { return 1; }).add(hello, hello_v1);

    EXPECT_EQ(registry.activity_names(), (std::vector<std::string>{"Answer", "Note"}));
    EXPECT_EQ(registry.orchestration_names(), (std::vector<std::string>{"Hello"}));
}

TEST(Registry, MergedPinsHoldAndDifferentOnesAreAProblem) {
    Registry library;
    library.add(hello, hello_v1).add(hello, "2.0.0", hello_v2).pin(hello, "1.0.0");
    Registry mine;
    mine.merge(library);
    EXPECT_EQ(mine.find_orchestration("Hello")->version_text, "1.0.0");
    EXPECT_TRUE(mine.problems().empty());

    Registry pinned;
    pinned.pin(hello, "2.0.0").merge(library);

    EXPECT_EQ(pinned.problems(),
              std::vector<std::string>{"orchestration 'Hello' is pinned to version 2.0.0 here and "
                                       "to 1.0.0 in the registry that was merged"});
    EXPECT_EQ(pinned.find_orchestration("Hello")->version_text, "2.0.0");
}

TEST(Registry, MergedWithItselfStaysAsItIs) {
    Registry registry;
    registry.add(greet, [](const std::string& name) { return name; })
        .add(hello, "1.0.0", hello_v1)
        .pin(hello, "1.0.0")
        .add(greet, [](const std::string& name) { return name; });
    const auto problems = registry.problems();
    ASSERT_EQ(problems.size(), 1u);

    registry.merge(registry);

    EXPECT_EQ(registry.problems(), problems);
    EXPECT_EQ(registry.activity_names(), std::vector<std::string>{"Greet"});
    EXPECT_EQ(registry.versions("Hello").size(), 1u);
}

} // namespace

} // namespace durable
