// An orchestration is a coroutine that gives what its contract says.
// expect alone: it must return a durable::Task of the contract's result

#include "contracts.hpp"

using namespace sample;

void right(durable::Registry& registry) {
    registry.add(hello, [](durable::Context, std::string name) -> durable::Task<std::string> {
        co_return name;
    });
}

#ifdef MISTAKE
void wrong(durable::Registry& registry) {
    registry.add(hello, [](durable::Context, std::string name) -> durable::Task<std::size_t> {
        co_return name.size();
    });
}
#endif
