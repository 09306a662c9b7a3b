// One input: a struct can grow a member under running instances, a parameter list cannot.
// expect: put several inputs into one struct

#include "contracts.hpp"

constexpr durable::Orchestration<int(int)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Orchestration<int(int, int)> wrong{"Wrong"};
#endif
