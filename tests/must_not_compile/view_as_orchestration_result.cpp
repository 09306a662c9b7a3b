// Neither may a client get a view of a result.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <optional>
#include <string_view>

using namespace sample;

constexpr durable::Orchestration<std::optional<std::string>(int)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
constexpr durable::Orchestration<std::optional<std::string_view>(int)> wrong{"Wrong"};
#endif
