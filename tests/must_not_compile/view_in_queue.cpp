// The same is true of messages in a mailbox.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <string_view>
#include <utility>

using namespace sample;

constexpr durable::Queue<std::pair<int, std::string>> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Queue<std::pair<int, std::string_view>> wrong{"Wrong"};
#endif
