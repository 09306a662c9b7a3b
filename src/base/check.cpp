#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace durable {

void check_failed(const char* condition, const char* message, const char* where) {
    static_cast<void>(std::fprintf(stderr,
                                   "durable: a bug in the library: %s (%s, %s). The process ends "
                                   "here; what is stored is safe.\n",
                                   message,
                                   condition,
                                   where));
    std::abort();
}

} // namespace durable
