// Dropping an operation cancels it. Done by accident, it must not compile.
// expect(Clang): dropping an operation cancels it: await it or keep it
// expect(GNU): ignoring return value

#include "contracts.hpp"

using namespace sample;

durable::Task<> right(durable::Context ctx, std::string name) {
    co_await ctx.call(greet, name);
}

#ifdef MISTAKE
durable::Task<> wrong(durable::Context ctx, std::string name) {
    ctx.call(greet, name);
    co_return;
}
#endif
