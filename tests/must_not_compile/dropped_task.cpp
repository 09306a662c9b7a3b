// A task is lazy: without an await it never runs.
// expect: a Task does nothing until it is awaited

#include "contracts.hpp"

using namespace sample;

durable::Task<> greet_twice(durable::Context ctx, std::string name) {
    co_await ctx.call(greet, name);
    co_await ctx.call(greet, name);
}

durable::Task<> right(durable::Context ctx, std::string name) {
    co_await greet_twice(ctx, name);
}

#ifdef MISTAKE
durable::Task<> wrong(durable::Context ctx, std::string name) {
    greet_twice(ctx, name);
    co_return;
}
#endif
