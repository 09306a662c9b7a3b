// A combinator waits for what can be awaited, and says so in one sentence.
// expect alone: all, all_settled and race wait for operations, tasks and groups of them

#include "contracts.hpp"

using namespace sample;

durable::Task<> right(durable::Context ctx) {
    co_await durable::all{ctx.sleep(durable::Duration{1}), ctx.sleep(durable::Duration{2})};
}

#ifdef MISTAKE
durable::Task<> wrong(durable::Context) {
    co_await durable::all{1, 2};
}
#endif
