// What call() refuses of g++ 12, continue_as_new() refuses too: name the input first.
// expect(GNU): use of deleted function

#include "contracts.hpp"

using namespace sample;

inline constexpr durable::Orchestration<int(User)> watch_user{"WatchUser"};

durable::Task<int> right(durable::Context ctx) {
    const User ana{.id = 1, .name = "ana"};
    co_return co_await ctx.continue_as_new(watch_user, ana);
}

#ifdef MISTAKE
durable::Task<int> wrong(durable::Context ctx) {
    co_return co_await ctx.continue_as_new(watch_user, User{.id = 1, .name = "ana"});
}
#endif
