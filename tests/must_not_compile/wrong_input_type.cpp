// The input has the type that the contract says.
// expect(Clang): no matching member function for call to 'call'
// expect(GNU): no matching function for call to

#include "contracts.hpp"

using namespace sample;

durable::Task<std::string> right(durable::Context ctx, User user) {
    co_return co_await ctx.call(fetch_email, user);
}

#ifdef MISTAKE
durable::Task<std::string> wrong(durable::Context ctx, int id) {
    co_return co_await ctx.call(fetch_email, id);
}
#endif
