#include <durable/registry.hpp>

#include <ranges>
#include <utility>

namespace durable {

namespace {

constexpr std::string_view no_code = "there is no code: the function is null";

std::string in_quotes(std::string_view name) {
    return "'" + std::string{name} + "'";
}

} // namespace

Registry& Registry::add_raw_activity(std::string_view name, ActivityHandler handler) {
    if (const auto* problem = detail::name_problem(name)) {
        problems_.push_back("activity " + in_quotes(name) + ": " + problem);
    } else if (!handler) {
        problems_.push_back("activity " + in_quotes(name) + ": " + std::string{no_code});
    } else if (!activities_.try_emplace(std::string{name}, std::move(handler)).second) {
        problems_.push_back("activity " + in_quotes(name) + " is bound twice");
    }
    return *this;
}

Registry& Registry::add_raw_orchestration(std::string_view name,
                                          std::string_view version,
                                          Task<std::string> (*code)(Context, std::string)) {
    if (code == nullptr) {
        return add_orchestration(name, version, nullptr);
    }
    return add_orchestration(name, version, [code](Context ctx, std::string_view input) {
        return detail::RootTask{code(ctx, std::string{input}), &detail::take_encoded<std::string>};
    });
}

Registry&
Registry::add_orchestration(std::string_view name, std::string_view version, Begin begin) {
    const auto parsed = Version::parse(version);
    if (const auto* problem = detail::name_problem(name)) {
        problems_.push_back("orchestration " + in_quotes(name) + ": " + problem);
        return *this;
    }
    if (!parsed) {
        problems_.push_back("orchestration " + in_quotes(name) + ": " + in_quotes(version) +
                            " is no version: write three numbers, like 1.2.3");
        return *this;
    }
    if (!begin) {
        problems_.push_back("orchestration " + in_quotes(name) + " version " + parsed->text() +
                            ": " + std::string{no_code});
        return *this;
    }
    auto handler = std::make_shared<OrchestrationHandler>();
    handler->name = std::string{name};
    handler->version = *parsed;
    handler->version_text = parsed->text();
    handler->begin = std::move(begin);
    auto& versions = orchestrations_[handler->name].by_version;
    if (!versions.try_emplace(*parsed, std::move(handler)).second) {
        problems_.push_back("orchestration " + in_quotes(name) + " version " + parsed->text() +
                            " is bound twice");
    }
    return *this;
}

Registry& Registry::pin_raw(std::string_view orchestration, std::string_view version) {
    const auto parsed = Version::parse(version);
    if (!parsed) {
        problems_.push_back("orchestration " + in_quotes(orchestration) + ": " +
                            in_quotes(version) + " is no version: write three numbers, like 1.2.3");
    } else {
        orchestrations_[std::string{orchestration}].pinned = parsed;
    }
    return *this;
}

Registry& Registry::merge(const Registry& other) {
    if (&other == this) { // it has everything already
        return *this;
    }
    for (const auto& [name, handler] : other.activities_) {
        add_raw_activity(name, handler);
    }
    for (const auto& [name, versions] : other.orchestrations_) {
        for (const auto& handler : versions.by_version | std::views::values) {
            add_orchestration(name, handler->version_text, handler->begin);
        }
        if (versions.pinned) {
            auto& pinned = orchestrations_[name].pinned;
            if (pinned.value_or(*versions.pinned) != *versions.pinned) {
                problems_.push_back("orchestration " + in_quotes(name) + " is pinned to version " +
                                    pinned->text() + " here and to " + versions.pinned->text() +
                                    " in the registry that was merged");
            } else {
                pinned = versions.pinned;
            }
        }
    }
    problems_.insert(problems_.end(), other.problems_.begin(), other.problems_.end());
    return *this;
}

const ActivityHandler* Registry::find_activity(std::string_view name) const {
    const auto found = activities_.find(name);
    return found == activities_.end() ? nullptr : &found->second;
}

std::shared_ptr<const OrchestrationHandler>
Registry::find_orchestration(std::string_view name, std::optional<Version> version) const {
    const auto found = orchestrations_.find(name);
    if (found == orchestrations_.end() || found->second.by_version.empty()) {
        return nullptr;
    }
    const auto& [by_version, pinned] = found->second;
    const auto wanted = version ? version : pinned;
    if (!wanted) {
        return by_version.rbegin()->second;
    }
    const auto exact = by_version.find(*wanted);
    return exact == by_version.end() ? nullptr : exact->second;
}

std::vector<std::string> Registry::activity_names() const {
    const auto names = activities_ | std::views::keys;
    return {names.begin(), names.end()};
}

std::vector<std::string> Registry::orchestration_names() const {
    std::vector<std::string> names;
    for (const auto& [name, versions] : orchestrations_) {
        if (!versions.by_version.empty()) {
            names.push_back(name);
        }
    }
    return names;
}

std::vector<Version> Registry::versions(std::string_view orchestration) const {
    const auto found = orchestrations_.find(orchestration);
    if (found == orchestrations_.end()) {
        return {};
    }
    const auto versions = found->second.by_version | std::views::keys;
    return {versions.begin(), versions.end()};
}

std::vector<std::string> Registry::problems() const {
    auto problems = problems_;
    for (const auto& [name, versions] : orchestrations_) {
        if (versions.pinned && !versions.by_version.contains(*versions.pinned)) {
            problems.push_back("orchestration " + in_quotes(name) + " is pinned to version " +
                               versions.pinned->text() + ", which is not bound");
        }
    }
    return problems;
}

} // namespace durable
