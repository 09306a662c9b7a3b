// An orchestration lives longer than the text of its input.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <string_view>
#include <vector>

using namespace sample;

constexpr durable::Orchestration<int(std::vector<std::string>)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Orchestration<int(std::vector<std::string_view>)> wrong{"Wrong"};
#endif
