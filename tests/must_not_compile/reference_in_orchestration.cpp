// The caller's string is gone when the orchestration goes on after its first wait.
// expect alone: takes its context and its input by value

#include "contracts.hpp"

using namespace sample;

void right(durable::Registry& registry) {
    registry.add(hello, [](durable::Context, std::string name) -> durable::Task<std::string> {
        co_return name;
    });
}

#ifdef MISTAKE
void wrong(durable::Registry& registry) {
    registry.add(hello,
                 [](durable::Context, const std::string& name) -> durable::Task<std::string> {
                     co_return name;
                 });
}
#endif
