// g++ 12 destroys an aggregate temporary twice in an await: name the input first.
// expect(GNU): use of deleted function

#include "contracts.hpp"

using namespace sample;

durable::Task<std::string> right(durable::Context ctx) {
    const User ana{.id = 1, .name = "ana"};
    co_return co_await ctx.call(fetch_email, ana);
}

#ifdef MISTAKE
durable::Task<std::string> wrong(durable::Context ctx) {
    co_return co_await ctx.call(fetch_email, User{.id = 1, .name = "ana"});
}
#endif
