// An input is stored, so it is a value.
// expect: write the input type of a contract without const and &: it is a value

#include "contracts.hpp"

constexpr durable::Activity<int(std::string)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Activity<int(const std::string&)> wrong{"Wrong"};
#endif
