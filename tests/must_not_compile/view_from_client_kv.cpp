// A client reads the store's text, which is gone when the call returns.
// expect: a payload must own its data: write std::string instead of std::string_view and

#include "contracts.hpp"

#include <durable/client.hpp>

#include <optional>
#include <string_view>

using namespace sample;

inline bool right(const durable::Client& client) {
    return client.kv<int>("a", "n").has_value();
}

#ifdef MISTAKE
inline bool wrong(const durable::Client& client) {
    return client.kv<std::string_view>("a", "n").has_value();
}
#endif
