// Awaiting anything else than a durable step would be invisible to replay.
// expect: an orchestration may only co_await what durable::Context or a durable::Task gave it

#include "contracts.hpp"

using namespace sample;

durable::Task<> right(durable::Context ctx) {
    co_await ctx.sleep(durable::Duration{1});
}

#ifdef MISTAKE
durable::Task<> wrong(durable::Context) {
    co_await std::suspend_always{};
}
#endif
