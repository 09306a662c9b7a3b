// A misspelt activity is a misspelt variable: the compiler knows better.
// expect(Clang): did you mean 'greet'?
// expect(GNU): 'gret' was not declared in this scope

#include "contracts.hpp"

using namespace sample;

durable::Task<std::string> right(durable::Context ctx, std::string name) {
    co_return co_await ctx.call(greet, name);
}

#ifdef MISTAKE
durable::Task<std::string> wrong(durable::Context ctx, std::string name) {
    co_return co_await ctx.call(gret, name);
}
#endif
