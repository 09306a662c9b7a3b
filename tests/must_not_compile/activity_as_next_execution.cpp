// Only an orchestration can be continued as new.
// expect: no matching

#include "contracts.hpp"

using namespace sample;

durable::Task<int> right(durable::Context ctx, int round) {
    co_return co_await ctx.continue_as_new(watch, round + 1);
}

#ifdef MISTAKE
durable::Task<std::string> wrong(durable::Context ctx, std::string name) {
    co_return co_await ctx.continue_as_new(greet, name);
}
#endif
