// An input is read where the activity runs, from a text that is gone a moment later.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <string_view>

using namespace sample;

constexpr durable::Activity<int(std::string)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Activity<int(std::string_view)> wrong{"Wrong"};
#endif
