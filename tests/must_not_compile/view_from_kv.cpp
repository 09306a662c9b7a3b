// A stored value may be replaced while its view is in use.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <optional>
#include <string_view>

using namespace sample;

inline std::optional<std::string> right(durable::Context ctx) {
    return ctx.kv().get("name");
}

#ifdef MISTAKE
inline std::optional<std::string_view> wrong(durable::Context ctx) {
    return ctx.kv().get<std::string_view>("name");
}
#endif
