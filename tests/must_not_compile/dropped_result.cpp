// An unchecked error is the beginning of lost data.
// expect: ignoring return value
// expect: nodiscard

#include <durable/provider.hpp>

durable::Result<durable::TagFilter> gpu() {
    return durable::TagFilter::tags({"gpu"});
}

#ifdef MISTAKE
void forget() {
    durable::TagFilter::tags({"gpu"});
}
#endif
