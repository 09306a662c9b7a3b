// The result has the type that the contract says.
// expect(Clang): no viable conversion
// expect(GNU): cannot convert

#include "contracts.hpp"

using namespace sample;

durable::Task<std::string> right(durable::Context ctx, std::string name) {
    const std::string greeting = co_await ctx.call(greet, name);
    co_return greeting;
}

#ifdef MISTAKE
durable::Task<int> wrong(durable::Context ctx, std::string name) {
    const int greeting = co_await ctx.call(greet, name);
    co_return greeting;
}
#endif
