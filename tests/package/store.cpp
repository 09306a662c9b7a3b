// A program that takes a store and nothing else: what the author of a provider begins with.

#include <durable/memory.hpp>
#include <durable/version.hpp>

int main() {
    const auto provider = durable::memory::open();
    const auto fetched = provider->fetch_orchestration_item({.lock_timeout = durable::Duration{1}});

    const bool empty = fetched.has_value() && !fetched->has_value();
    return empty && durable::engine_version() > durable::Version{} ? 0 : 1;
}
