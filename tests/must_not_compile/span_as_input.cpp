// A span is a view like any other.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <span>
#include <vector>

using namespace sample;

constexpr durable::Activity<int(std::vector<int>)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Activity<int(std::span<const int>)> wrong{"Wrong"};
#endif
