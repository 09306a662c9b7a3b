// An activity without input takes nothing but, if it likes, its context.
// expect alone: this code does not fulfil the activity's contract: it must take nothing

#include "contracts.hpp"

constexpr durable::Activity<int()> count{"Count"};

void right(durable::Registry& registry) {
    registry.add(count, [] { return 1; });
}

#ifdef MISTAKE
void wrong(durable::Registry& registry) {
    registry.add(count, [](int from) { return from + 1; });
}
#endif
