#include "files_provider.hpp"

#include "deleting.hpp"

#include <exception>
#include <map>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <variant>

namespace files_store {

namespace {

// The top layer: what clients read, and what they wait for.
class FilesProvider final : public Deleting {
 public:
    using Deleting::Deleting;

    std::string name() const override { return "files"; }
    std::string version() const override { return "1.0.0"; }
    Durability durability() const noexcept override { return options_.durability; }
    ProviderAdmin* as_management_capability() noexcept override { return this; }

    Result<Events> read(const std::string& id) override {
        return look("read", [&] { return records_.history(id, records_.latest(id)); });
    }
    Result<Events> read_with_execution(const std::string& id, std::uint64_t n) override {
        return look("read_with_execution", [&] { return records_.history(id, n); });
    }
    Result<>
    append_with_execution(const std::string& id, std::uint64_t n, const Events& events) override {
        return change("append_with_execution", [&] {
            Change change;
            check_text(id);
            auto execution = records_.execution(id, n).value_or(Execution{});
            records_.append(change, id, n, execution, events);
            if (!events.empty()) {
                change.push_back(store(path_of(id, n) + "/status.json", execution));
            }
            directory_.change(change);
        });
    }

    Result<std::optional<CustomStatus>> get_custom_status(const std::string& id,
                                                          std::uint64_t seen) override {
        return look("get_custom_status", [&]() -> std::optional<CustomStatus> {
            const auto meta = records_.meta(id);
            return meta && meta->custom_status_version > seen ? std::optional{custom(*meta)}
                                                              : std::nullopt;
        });
    }
    Result<std::optional<std::string>> get_kv_value(const std::string& id,
                                                    const std::string& key) override {
        return look("get_kv_value", [&] {
            const auto all = records_.values(id).merged();
            const auto found = all.find(key);
            return found != all.end() ? std::optional{found->second} : std::nullopt;
        });
    }
    Result<std::map<std::string, std::string>> get_kv_all_values(const std::string& id) override {
        return look("get_kv_all_values", [&] { return records_.values(id).merged(); });
    }
    Result<std::optional<InstanceStats>> get_instance_stats(const std::string& id) override {
        return look("get_instance_stats", [&]() -> std::optional<InstanceStats> {
            const auto meta = records_.meta(id);
            if (!meta) {
                return std::nullopt;
            }
            const auto execution = records_.execution(id, meta->execution).value_or(Execution{});
            InstanceStats stats{.history_event_count = execution.events,
                                .history_size_bytes = execution.bytes};
            for (const auto& [event, text] : records_.events(id, meta->execution)) {
                if (event != 1) {
                    continue;
                }
                const auto first = decode_event(text);
                if (!first) {
                    refuse(ErrorCode::corrupt, first.error().message);
                }
                if (const auto* start = std::get_if<history::OrchestrationStarted>(&first->kind)) {
                    stats.queue_pending_count = history::carried_messages(*start);
                }
            }
            for (const auto& [key, value] : records_.values(id).merged()) {
                ++stats.kv_user_key_count;
                stats.kv_total_value_bytes += value.size();
            }
            return stats;
        });
    }

    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = poll(
            "watch_instance", request.timeout, request.stop, [&]() -> std::optional<InstanceState> {
                auto seen = state_of(request.instance);
                const bool ended = !seen.exists || seen.status == ExecutionStatus::completed ||
                                   seen.status == ExecutionStatus::failed;
                const bool news =
                    seen.revision != request.seen_revision && (!request.ended_only || ended);
                return news ? std::optional{std::move(seen)} : std::nullopt;
            });
        if (!state) {
            return std::unexpected{std::move(state).error()};
        }
        return *state ? Result<InstanceState>{**std::move(state)}
                      : look("watch_instance", [&] { return state_of(request.instance); });
    }

 private:
    [[nodiscard]] static CustomStatus custom(const Meta& meta) {
        return {.status = meta.custom_status, .version = meta.custom_status_version};
    }
    // Why it failed, as its history tells; nullopt: it has not, or no such event can be read.
    [[nodiscard]] std::optional<ErrorDetails> failure_of(
        const std::string& id, const Meta& meta, std::optional<ExecutionStatus> status) const {
        if (status != ExecutionStatus::failed) {
            return std::nullopt;
        }
        try {
            const auto events = records_.history(id, meta.execution);
            for (const auto& event : std::views::reverse(events)) {
                if (const auto* failed = std::get_if<history::OrchestrationFailed>(&event.kind)) {
                    return failed->details;
                }
            }
        } catch (const std::invalid_argument&) { // damaged: the output has the text
        }
        return std::nullopt;
    }
    [[nodiscard]] InstanceState state_of(const std::string& id) {
        const auto row = this->row(id);
        if (!row.meta) {
            return {.revision = records_.deleted()[id], .incarnation = inboxes()[id].incarnation()};
        }
        const auto status = parse_execution_status(row.status());
        return {.revision = row.meta->revision,
                .exists = true,
                .orchestration_name = row.meta->name,
                .orchestration_version = row.meta->version,
                .execution_id = row.meta->execution,
                .status = status.value_or(ExecutionStatus::running),
                .output = row.output(),
                .failure = failure_of(id, *row.meta, status),
                .custom_status = custom(*row.meta),
                .incarnation = row.meta->incarnation,
                .parked = row.parked()};
    }
};

} // namespace

Result<std::shared_ptr<Provider>> open(const std::string& directory, Options options) {
    try {
        return std::make_shared<FilesProvider>(directory, std::move(options));
    } catch (const Refusal& refusal) {
        return fail(refusal.code(), refusal.what(), "open");
    } catch (const std::invalid_argument& damage) {
        return fail(ErrorCode::corrupt, damage.what(), "open");
    } catch (const std::exception& error) {
        return fail(ErrorCode::unavailable, error.what(), "open");
    }
}

} // namespace files_store
