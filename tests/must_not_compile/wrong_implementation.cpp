// Code that does not fulfil its contract is not registered.
// expect alone: this code does not fulfil the activity's contract

#include "contracts.hpp"

using namespace sample;

void right(durable::Registry& registry) {
    registry.add(greet, [](const std::string& name) { return name; });
}

#ifdef MISTAKE
void wrong(durable::Registry& registry) {
    registry.add(greet, [](int number) { return number; });
}
#endif
