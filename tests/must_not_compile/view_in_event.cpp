// The text of an event is gone when its receiver goes on.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <map>
#include <string_view>

using namespace sample;

constexpr durable::Event<std::map<std::string, std::string>> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Event<std::map<std::string, std::string_view>> wrong{"Wrong"};
#endif
