// An operation is one step with one owner: two could not both cancel it.
// expect(Clang): call to deleted constructor
// expect(GNU): use of deleted function

#include "contracts.hpp"

#include <utility>

using namespace sample;

durable::Task<std::string> right(durable::Context ctx, std::string name) {
    auto call = ctx.call(greet, name);
    auto moved = std::move(call);
    co_return co_await moved;
}

#ifdef MISTAKE
durable::Task<std::string> wrong(durable::Context ctx, std::string name) {
    auto call = ctx.call(greet, name);
    auto copied = call;
    co_return co_await copied;
}
#endif
