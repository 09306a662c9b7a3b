// The hospital of a town: a node with many threads, and the only one that has two activities: one
// that takes long, and one that kills the node. What is under way when it dies is counted as an
// attempt. The node obeys P16, so the patients that only take long are cured, and the deadly one is
// poison in the end.

#pragma once

#include <durable/client.hpp>
#include <durable/provider.hpp>
#include <durable/registry.hpp>

#include <memory>
#include <string>

namespace durable::property {

class Hospital {
 public:
    static constexpr std::string_view deadly_patient = "patient 1";

    explicit Hospital(const std::shared_ptr<Provider>& store) : store_{store}, client_{store} {}

    // Any node may have them.
    static void add_orchestrations(Registry& registry);

    void admit();

    // Has as much under way as the store gives it, dies of it or ends what is its own.
    struct Day {
        bool dies = false;
        std::string trouble;
    };
    Day open();

    [[nodiscard]] bool has_patients() const;
    // What is wrong at the end; empty when all is well.
    [[nodiscard]] std::string judge() const;

 private:
    std::shared_ptr<Provider> store_;
    Client client_;
};

} // namespace durable::property
