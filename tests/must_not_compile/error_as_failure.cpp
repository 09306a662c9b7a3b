// An Error is ours and is never recorded; a Failure is the user's and is. They do not mix.
// expect(Clang): no viable conversion
// expect(GNU): could not convert

#include <durable/result.hpp>

durable::Result<int> ours() {
    return durable::fail(durable::ErrorCode::not_found, "no such instance");
}

#ifdef MISTAKE
durable::Outcome<int> theirs() {
    return durable::fail(durable::ErrorCode::not_found, "no such instance");
}
#endif
