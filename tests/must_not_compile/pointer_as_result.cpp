// So is a pointer, also to a literal: the next process has other literals.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<std::string(int)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Activity<const char*(int)> wrong{"Wrong"};
#endif
