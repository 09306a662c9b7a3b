// A lease's deadline and a date are different types: a clock that is set cannot move a lease.
// expect(Clang): no viable conversion
// expect(GNU): could not convert

#include <durable/time.hpp>

durable::Instant date(const durable::Clock& clock) {
    return clock.now();
}

#ifdef MISTAKE
durable::Instant deadline(const durable::Clock& clock) {
    return clock.steady();
}
#endif
