// What cannot be written as a payload cannot cross the durable boundary. One sentence says what to
// add, however often the contract is used.
// expect alone: the input is no payload: write DURABLE_PAYLOAD(Type, members...) below its struct
// expect at most: 40 lines

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<int(User)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
struct Handle {
    int number = 0;
};
constexpr durable::Activity<int(Handle)> wrong{"Wrong"};

durable::Task<int> use(durable::Context ctx, int number) {
    const auto result = co_await ctx.call(wrong, {.number = number});
    co_return result;
}

void bind(durable::Registry& registry) {
    registry.add(watch, use);
    registry.add(wrong, [](const Handle& handle) { return handle.number; });
}
#endif
