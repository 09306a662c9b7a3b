// Captured state is not in the history, so replay could not restore it.
// expect alone: an orchestration must not capture: replay cannot restore captured state

#include "contracts.hpp"

using namespace sample;

void right(durable::Registry& registry) {
    registry.add(hello, [](durable::Context, std::string name) -> durable::Task<std::string> {
        co_return name;
    });
}

#ifdef MISTAKE
void wrong(durable::Registry& registry) {
    int hits = 0;
    registry.add(hello, [&hits](durable::Context, std::string name) -> durable::Task<std::string> {
        ++hits;
        co_return name;
    });
}
#endif
