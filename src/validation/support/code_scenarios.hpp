// Fetches of a node that has certain code (P14): these orchestrations, these activities.

#pragma once

#include "validation/support/support.hpp"

#include <durable/provider.hpp>

#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace durable::validation {

using VersionsByName =
    std::initializer_list<std::pair<const char*, std::initializer_list<const char*>>>;

// A node with these orchestrations and nothing else.
[[nodiscard]] inline FetchOrchestration having(VersionsByName names) {
    auto code = std::make_shared<OrchestrationCode>();
    for (const auto& [name, versions] : names) {
        code->versions[name].insert(versions.begin(), versions.end());
    }
    return {.lock_timeout = long_lease, .code = std::move(code)};
}

// A node with these activities and nothing else.
[[nodiscard]] inline FetchWork having_activities(std::initializer_list<const char*> names) {
    return {.lock_timeout = long_lease,
            .code = std::make_shared<const std::set<std::string, std::less<>>>(names.begin(),
                                                                               names.end())};
}

// The start of an orchestration of this name and version.
[[nodiscard]] inline work::StartOrchestration
start_of(const std::string& instance, const std::string& name, std::optional<std::string> version) {
    auto start = start_of(instance);
    start.orchestration = name;
    start.version = std::move(version);
    return start;
}

} // namespace durable::validation
