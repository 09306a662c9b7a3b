// State that belongs to a mutex is not touched without it. Only clang can see that.
// expect(Clang): requires holding mutex 'counter.mutex'

#include "base/mutex.hpp"

struct Counter {
    durable::Mutex mutex;
    int value DURABLE_GUARDED_BY(mutex) = 0;
};

int read(Counter& counter) {
    const durable::MutexLock lock{counter.mutex};
    return counter.value;
}

#ifdef MISTAKE
int race(Counter& counter) {
    return counter.value;
}
#endif
