#include "base/try.hpp"

#include <durable/provider.hpp>

#include <algorithm>
#include <utility>

namespace durable {

namespace {

Result<std::vector<std::string>> checked(std::vector<std::string> tags) {
    std::ranges::sort(tags);
    tags.erase(std::ranges::unique(tags).begin(), tags.end());
    if (tags.empty()) {
        return fail(ErrorCode::invalid_argument, "a tag filter requires at least one tag");
    }
    if (tags.size() > TagFilter::max_tags) {
        return fail(ErrorCode::invalid_argument,
                    "a tag filter takes at most 5 tags, not " + std::to_string(tags.size()));
    }
    return tags;
}

} // namespace

std::string_view name_of(ExecutionStatus status) noexcept {
    switch (status) {
    case ExecutionStatus::running:
        return "Running";
    case ExecutionStatus::completed:
        return "Completed";
    case ExecutionStatus::failed:
        return "Failed";
    case ExecutionStatus::continued_as_new:
        return "ContinuedAsNew";
    case ExecutionStatus::pending:
        return "Pending";
    }
    return "Unknown";
}

std::optional<ExecutionStatus> parse_execution_status(std::string_view text) noexcept {
    for (const auto status : {ExecutionStatus::running,
                              ExecutionStatus::completed,
                              ExecutionStatus::failed,
                              ExecutionStatus::continued_as_new,
                              ExecutionStatus::pending}) {
        if (text == name_of(status)) {
            return status;
        }
    }
    return std::nullopt;
}

bool CapabilityFilter::matches(const Version& pinned) const noexcept {
    return std::ranges::any_of(supported,
                               [&](const VersionRange& range) { return range.contains(pinned); });
}

bool OrchestrationCode::has(std::string_view name, std::string_view version) const noexcept {
    const auto found = versions.find(name);
    if (found == versions.end()) {
        return false;
    }
    return version.empty() || version == "unknown" || found->second.contains(version);
}

Result<TagFilter> TagFilter::tags(std::vector<std::string> tags) {
    DURABLE_TRY_ASSIGN(auto sorted, checked(std::move(tags)));
    return TagFilter{Mode::tags, std::move(sorted)};
}

Result<TagFilter> TagFilter::default_and(std::vector<std::string> tags) {
    DURABLE_TRY_ASSIGN(auto sorted, checked(std::move(tags)));
    return TagFilter{Mode::default_and, std::move(sorted)};
}

bool TagFilter::matches(const std::optional<std::string>& tag) const noexcept {
    switch (mode_) {
    case Mode::default_only:
        return !tag;
    case Mode::tags:
        return tag && std::ranges::binary_search(tags_, *tag);
    case Mode::default_and:
        return !tag || std::ranges::binary_search(tags_, *tag);
    case Mode::any:
        return true;
    case Mode::none:
        return false;
    }
    return false;
}

Result<std::vector<std::string>> Provider::renew_leases(const std::vector<LeaseRenewal>& leases) {
    std::vector<std::string> lost;
    for (const auto& [of, lock_token, extend_for] : leases) {
        auto renewed = of == LeaseRenewal::Of::turn
                           ? renew_orchestration_item_lock(lock_token, extend_for)
                           : renew_work_item_lock(lock_token, extend_for);
        if (renewed) {
            continue;
        }
        if (renewed.error().code != ErrorCode::lock_lost) {
            return std::unexpected{std::move(renewed).error()};
        }
        lost.push_back(lock_token);
    }
    return lost;
}

} // namespace durable
