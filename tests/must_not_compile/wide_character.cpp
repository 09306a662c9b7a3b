// A character that is not char is neither a text nor a number.
// expect: the input must be a durable::Payload: see durable/payload.hpp

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<int(char)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Activity<int(char8_t)> wrong{"Wrong"};
#endif
