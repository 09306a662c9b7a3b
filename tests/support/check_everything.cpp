// Linked into tests with random calls: every ledger is checked as a whole after every call.

#include "providers/ledger_store/ledger_provider.hpp"

namespace {

[[maybe_unused]] const bool on = [] {
    durable::ledger::LedgerProvider::check_after_every_call();
    return true;
}();

} // namespace
