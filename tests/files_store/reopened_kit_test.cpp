// The same on stores that are closed and opened again before every call: what is kept in memory
// only would show.

#include "files_store/files_stores.hpp"
#include "validation/support/forwarding_factory.hpp"

#include <durable/validation.hpp>
#include <durable/validation_gtest.hpp>

#include <memory>

namespace files_store {
namespace {

struct Reopened {
    FilesStores stores;
    std::unique_ptr<durable::validation::Factory> reopening =
        durable::validation::reopening_factory(stores);
};

class ReopenedStores final : private Reopened, public durable::validation::ForwardingFactory {
 public:
    ReopenedStores() : ForwardingFactory{*reopening} {}
};

[[maybe_unused]] const bool reopened = durable::validation::register_with_gtest(
    "FilesReopened", [] { return std::make_unique<ReopenedStores>(); });

} // namespace
} // namespace files_store
