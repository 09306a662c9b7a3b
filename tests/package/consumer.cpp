// What a user's program may do with the installed library.

#include <durable/result.hpp>
#include <durable/testing.hpp>
#include <durable/version.hpp>

#include <chrono>

int main() {
    durable::ManualClock clock;
    const auto before = clock.now();
    clock.advance(std::chrono::seconds{1});

    const bool moved = clock.now() - before == std::chrono::seconds{1};
    return moved && durable::engine_version() > durable::Version{} ? 0 : 1;
}
