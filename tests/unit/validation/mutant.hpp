// Providers with one deliberate defect each, made of the memory provider: they prove that the
// validation kit notices.

#pragma once

#include "validation/support/forwarding_factory.hpp"
#include "validation/support/redirecting_provider.hpp"

#include <durable/validation.hpp>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace durable::validation {

// Passes everything on; a mutant overrides what it breaks.
class Mutant : public RedirectingProvider {
 public:
    explicit Mutant(std::shared_ptr<Provider> inner)
        : RedirectingProvider{*inner}, inner_{std::move(inner)} {}

 protected:
    [[nodiscard]] Result<std::shared_ptr<Provider>> target() override { return inner_; }
    [[nodiscard]] Provider& inner() const { return *inner_; }

 private:
    std::shared_ptr<Provider> inner_;
};

// How a defect is named, made, and which sentences of the contract it breaks.
struct Defect {
    std::string name;
    std::function<std::unique_ptr<Factory>()> make;
    std::vector<std::string> caught_by; // names of checks; each of them must fail

    friend std::ostream& operator<<(std::ostream& out, const Defect& defect) {
        return out << defect.name;
    }
};

// A base, so that it is made before the factory that forwards to it.
struct MemoryStores {
    std::unique_ptr<Factory> stores = memory_factory();
};

// Stores of M over in-memory stores.
template <class M>
class MutantFactory final : private MemoryStores, public ForwardingFactory {
 public:
    MutantFactory() : ForwardingFactory{*stores} {}

    [[nodiscard]] Result<std::shared_ptr<Provider>> create() override {
        auto store = inner().create();
        if (!store) {
            return store;
        }
        return std::make_shared<M>(*std::move(store));
    }
};

template <class M>
Defect defect(std::string name, std::vector<std::string> caught_by) {
    return {.name = std::move(name),
            .make = [] { return std::make_unique<MutantFactory<M>>(); },
            .caught_by = std::move(caught_by)};
}

// Stores in memory that survive being closed, because the factory keeps them.
class KeepingFactory : private MemoryStores, public ForwardingFactory {
 public:
    KeepingFactory() : ForwardingFactory{*stores} {}

    [[nodiscard]] Result<std::shared_ptr<Provider>> create() override {
        auto store = inner().create();
        if (store) {
            kept_ = *store;
        }
        return store;
    }
    [[nodiscard]] Result<std::shared_ptr<Provider>> reopen() override { return kept_; }

 private:
    std::shared_ptr<Provider> kept_;
};

[[nodiscard]] std::vector<Defect> commit_defects();
[[nodiscard]] std::vector<Defect> delivery_defects();
[[nodiscard]] std::vector<Defect> waiting_defects();
[[nodiscard]] std::vector<Defect> state_defects();
[[nodiscard]] std::vector<Defect> store_defects();
[[nodiscard]] std::vector<Defect> size_defects();
[[nodiscard]] std::vector<Defect> code_defects();
[[nodiscard]] std::vector<Defect> starting_defects();

} // namespace durable::validation
