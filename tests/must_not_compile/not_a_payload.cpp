// What cannot be written as a payload cannot cross the durable boundary.
// expect: the input must be a durable::Payload: see durable/payload.hpp

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<int(User)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
struct Handle {
    int number;
};
constexpr durable::Activity<int(Handle)> wrong{"Wrong"};
#endif
