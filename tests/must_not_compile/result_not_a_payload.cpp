// A result is stored like an input.
// expect alone: the result is neither void nor a payload: write DURABLE_PAYLOAD(Type, members...)
// expect at most: 40 lines

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<User(int)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
struct Handle {
    int number;
};
constexpr durable::Activity<Handle(int)> wrong{"Wrong"};
#endif
