// A provider call whose error is not checked. g++ 12 ignores [[nodiscard]] on virtual functions.
// expect(Clang): ignoring return value of function declared with 'nodiscard' attribute

#include <durable/provider.hpp>

durable::Result<> abandon(durable::Provider& provider) {
    return provider.abandon_work_item("token", std::nullopt, false);
}

#ifdef MISTAKE
void abandon_blindly(durable::Provider& provider) {
    provider.abandon_work_item("token", std::nullopt, false);
}
#endif
