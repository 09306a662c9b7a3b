// Tag filters come from functions that check their limits.
// expect: private

#include <durable/provider.hpp>

durable::TagFilter everything() {
    return durable::TagFilter::any();
}

#ifdef MISTAKE
durable::TagFilter unchecked() {
    return durable::TagFilter{durable::TagFilter::Mode::tags, {}};
}
#endif
