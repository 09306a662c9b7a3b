// The next execution gets an input of the contract's type.
// expect(Clang): no matching member function for call to 'continue_as_new'
// expect(GNU): no matching function for call to

#include "contracts.hpp"

using namespace sample;

durable::Task<int> right(durable::Context ctx, int state) {
    co_return co_await ctx.continue_as_new(watch, state);
}

#ifdef MISTAKE
durable::Task<int> wrong(durable::Context ctx, std::string state) {
    co_return co_await ctx.continue_as_new(watch, state);
}
#endif
