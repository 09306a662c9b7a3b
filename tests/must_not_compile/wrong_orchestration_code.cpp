// An orchestration gets a context: without one it could do nothing.
// expect alone: it must take a durable::Context and the input, both by value

#include "contracts.hpp"

using namespace sample;

void right(durable::Registry& registry) {
    registry.add(hello, [](durable::Context, std::string name) -> durable::Task<std::string> {
        co_return name;
    });
}

#ifdef MISTAKE
void wrong(durable::Registry& registry) {
    registry.add(hello, [](std::string name) -> durable::Task<std::string> { co_return name; });
}
#endif
