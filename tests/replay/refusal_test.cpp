// What an orchestration may not store: names, ids, versions and options that make no sense. The
// sentence names the field, and the orchestration ends there.

#include "replay/fixture.hpp"

#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace durable::replay_test::refusal_test {

namespace {

TEST(Refused, NamesThatNobodyCanRegister) {
    const auto sentence = "a durable name consists of letters, digits, '_', '-', '.' and ':': "
                          "'no spaces'";
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("no spaces", "");
    }).fails(sentence);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("no spaces", "");
    }).fails(sentence);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.wait_for_raw("no spaces");
    }).fails(sentence);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.dequeue_raw("no spaces");
    }).fails(sentence);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.start_detached_raw("no spaces", "");
    }).fails(sentence);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.on_failure_raw("no spaces", "");
        co_return "";
    }).fails("compensation 'no spaces': " + std::string{sentence});
}

TEST(Refused, IdsThatNoInstanceMayHave) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "", {.id = "two\nlines"});
    }).fails("'C': an instance id has no control characters: 'two\\nlines'");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.start_detached_raw("D", "", {.id = "bell\x07"});
    }).fails("'D': an instance id has no control characters: 'bell\\x07'");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const std::string long_id(513, 'x');
        co_return ctx.start_detached_raw("D", "", {.id = long_id});
    }).fails("'D': an instance id has at most 512 bytes, not 513");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.start_detached_raw("D", "", {.id = "a::detached::1_2"});
    })
        .fails("'D': 'sub::' and '::detached::' in an instance id are the library's own: "
               "'a::detached::1_2'");
}

Task<std::string> read_kv_of_two_lines(Context ctx, std::string) {
    const auto value = co_await ctx.kv().of("two\nlines", "key");
    co_return value.value_or("no value");
}

TEST(Refused, IdsAndKeysOfReadsThatNoInstanceMayHave) {
    const auto lines = "kv().of(): an instance id has no control characters: 'two\\nlines'";
    fresh(read_kv_of_two_lines).fails(lines);
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto value = co_await ctx.kv().of("", "key");
        co_return value.value_or("no value");
    }).fails("kv().of(): an instance id must not be empty");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto value = co_await ctx.kv().of(std::string(513, 'x'), "key");
        co_return value.value_or("no value");
    }).fails("kv().of(): an instance id has at most 512 bytes, not 513");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto value = co_await ctx.kv().of("\xff", "key");
        co_return value.value_or("no value");
    }).fails("kv().of(): an instance id is UTF-8 text: '\\xff'");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto value = co_await ctx.kv().of("other", std::string(257, 'k'));
        co_return value.value_or("no value");
    })
        .fails("kv().of(): KV key '" + std::string(64, 'k') +
               "...' (257 bytes) exceeds limit (256 bytes)");
}

TEST(Refused, VersionsThatAreNone) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "", {.version = "two"});
    }).fails("'C': not a version: 'two', expected three numbers, like 1.2.3");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.continue_as_new_raw("", {.version = "2"});
    }).fails("'TestOrch': not a version: '2', expected three numbers, like 1.2.3");
}

template <class Change>
void expect_refused(std::string_view sentence, Change) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        CallOptions options{.retry = {.max_attempts = 2}};
        Change{}(options);
        co_return co_await ctx.call_raw("A", "", options);
    }).fails("activity 'A': " + std::string{sentence});
}

TEST(Refused, RetryPoliciesAndTimeoutsThatMakeNoSense) {
    expect_refused("retry.max_attempts must be at least 1, not 0",
                   [](CallOptions& options) { options.retry.max_attempts = 0; });
    expect_refused("retry.multiplier must be a number from 1 on, not 0.500000",
                   [](CallOptions& options) { options.retry.multiplier = 0.5; });
    expect_refused("retry.multiplier must be a number from 1 on, not nan",
                   [](CallOptions& options) {
                       options.retry.multiplier = std::numeric_limits<double>::quiet_NaN();
                   });
    expect_refused("retry.only_retryable and retry.retry_permanent contradict each other",
                   [](CallOptions& options) {
                       options.retry.only_retryable = true;
                       options.retry.retry_permanent = true;
                   });
    expect_refused("retry.first_delay must not be negative: -1000 ms",
                   [](CallOptions& options) { options.retry.first_delay = -1s; });
    expect_refused("retry.max_delay must not be negative: -1 ms",
                   [](CallOptions& options) { options.retry.max_delay = -1ms; });
    expect_refused("timeout must be positive, not 0 ms",
                   [](CallOptions& options) { options.timeout = 0s; });
    expect_refused("total_timeout must be positive, not -1000 ms",
                   [](CallOptions& options) { options.total_timeout = -1s; });
    expect_refused("retry.backoff is none of its values: 7",
                   [](CallOptions& options) { options.retry.backoff = static_cast<Backoff>(7); });
    // Without retries, too: the mistake is in the program, not in this call.
    expect_refused("retry.multiplier must be a number from 1 on, not -2.000000",
                   [](CallOptions& options) { options.retry = {.multiplier = -2}; });
}

TEST(Refused, APolicyForChildrenThatIsNone) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw(
            "C", "", {.when_dropped = static_cast<ChildPolicy>(7)});
    }).fails("'C': when_dropped is none of its values: 7");
}

Task<std::string> try_to_catch(Context ctx, std::string) {
    ctx.on_failure_raw("Undo", "it");
    try {
        auto call = ctx.call_raw("no spaces", "");
        co_await call;
    } catch (...) {
        co_return "caught";
    }
    co_return "went on";
}

// The fixture replays every turn and compares its end: what is refused once is refused again.
TEST(Refused, TextThatIsNotUtf8InEveryCall) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.patched("\xff") ? "new" : "old";
    }).fails("patched(): the id must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "\xff");
    }).fails("'A': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "", {.tag = "\xff"});
    }).fails("'A': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "", {.retry = {.max_attempts = 2}, .session = "\xff"});
    }).fails("'A': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "\xff");
    }).fails("'C': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.start_detached_raw("D", "\xff");
    }).fails("'D': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.continue_as_new_raw("\xff");
    }).fails("'TestOrch': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.on_failure_raw("U", "\xff");
        co_return "";
    }).fails("compensation 'U': 'U': input and options must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.set_status("\xff");
        co_return "";
    }).fails("the custom status must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().set("\xff", "value");
        co_return "";
    }).fails("KV key '\\xff': key and value must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.kv().clear("\xff");
        co_return "";
    }).fails("KV key '\\xff' must be UTF-8 text");
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto value = co_await ctx.kv().of("other", "\xff");
        co_return value.value_or("");
    }).fails("kv().of(): KV key '\\xff' must be UTF-8 text");
    fresh([](Context, std::string) -> Task<std::string> {
        co_return "\xff";
    }).fails("the result of an orchestration must be UTF-8 text");
}

TEST(Refused, StepsCannotBeCaughtAndCompensationsRun) {
    fresh(try_to_catch).runs_on().gives_to_workers({"ActivityExecute#2 Undo(it)"});
}

} // namespace

} // namespace durable::replay_test::refusal_test
