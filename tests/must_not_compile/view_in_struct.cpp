// A struct owns nothing if its members do not.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <string_view>

using namespace sample;

struct Person {
    int id = 0;
    std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Person, id, name)
constexpr durable::Activity<Person(int)> right{"Right"};
static_assert(right.name() == "Right");

#ifdef MISTAKE
struct Badge {
    int id = 0;
    std::string_view name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Badge, id, name)
constexpr durable::Activity<Badge(int)> wrong{"Wrong"};
#endif
