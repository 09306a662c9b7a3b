// A provider is shared, never copied: a copy would have its own locks on the same store.
// expect: deleted

#include <durable/provider.hpp>

#include <memory>

std::shared_ptr<durable::Provider> share(const std::shared_ptr<durable::Provider>& provider) {
    return provider;
}

#ifdef MISTAKE
void copy(const durable::Provider& provider, durable::Provider& other) {
    other = provider;
}
#endif
