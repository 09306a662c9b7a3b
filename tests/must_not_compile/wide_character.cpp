// A character that is not char is neither a text nor a number.
// expect alone: the input is no payload: write DURABLE_PAYLOAD(Type, members...) below its struct
// expect at most: 40 lines

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<int(char)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Activity<int(char8_t)> wrong{"Wrong"};
#endif
