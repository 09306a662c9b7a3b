// A result is stored like an input.
// expect: the result must be a durable::Payload or void: see durable/payload.hpp

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
