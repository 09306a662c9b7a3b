#include "validation/checks/categories.hpp"
#include "validation/support/expect.hpp"

#include <durable/validation.hpp>

#include <exception>
#include <iterator>
#include <string>
#include <vector>

namespace durable::validation {

namespace {

// In the order in which a new provider is written: the basics first.
std::vector<Check> all_checks() {
    std::vector<Check> all;
    for (const auto category : {
             atomicity_checks(),
             error_handling_checks(),
             instance_creation_checks(),
             instance_locking_checks(),
             lock_expiration_checks(),
             multi_execution_checks(),
             queue_semantics_checks(),
             management_checks(),
             instance_stats_checks(),
             long_polling_checks(),
             wake_up_checks(),
             poison_message_checks(),
             cancellation_checks(),
             deletion_checks(),
             bulk_deletion_checks(),
             prune_checks(),
             capability_filtering_checks(),
             corrupt_history_checks(),
             session_checks(),
             session_lease_checks(),
             tag_filtering_checks(),
             custom_status_checks(),
             kv_store_checks(),
             kv_layer_checks(),
             orphan_checks(),
             damage_checks(),
             all_or_nothing_checks(),
             error_class_checks(),
             strange_id_checks(),
             contract_hole_checks(),
             round_trip_checks(),
             race_checks(),
             time_boundary_checks(),
             clock_jump_checks(),
             timer_checks(),
             fairness_checks(),
             cached_history_checks(),
             watch_checks(),
             sizes_checks(),
             exactness_checks(),
             abandon_checks(),
             starting_checks(),
             pending_checks(),
             code_checks(),
             code_wake_up_checks(),
             suspect_checks(),
             parked_checks(),
             reopen_checks(),
         }) {
        all.insert(all.end(), category.begin(), category.end());
    }
    return all;
}

} // namespace

std::span<const Check> checks() {
    static const std::vector<Check> all = all_checks();
    return all;
}

Verdict run(const Check& check, Factory& factory) {
    try {
        check.run(factory);
        return {};
    } catch (const CheckSkipped& skipped) {
        return {.outcome = Outcome::skipped, .message = skipped.what()};
    } catch (const CheckFailed& failed) {
        return {.outcome = Outcome::failed, .message = failed.what()};
    } catch (const std::exception& escaped) {
        return {.outcome = Outcome::failed,
                .message = std::string{"an exception escaped the provider: "} + escaped.what()};
    } catch (...) {
        return {.outcome = Outcome::failed,
                .message = "something that is no std::exception escaped the provider"};
    }
}

} // namespace durable::validation
