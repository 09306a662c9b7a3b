// Custom status, KV, patches, time and identity: what the code reads and writes besides its steps.

#include "replay/engine.hpp"
#include "replay/text.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

std::string over_limit(std::string what, std::size_t size, std::size_t limit) {
    return std::move(what) + " (" + std::to_string(size) + " bytes) exceeds limit (" +
           std::to_string(limit) + " bytes)";
}

std::string long_key(std::string_view key, std::size_t limit) {
    constexpr std::size_t shown = 64;
    const auto* const rest = key.size() > shown ? "...'" : "'";
    return over_limit("KV key '" + printable(key.substr(0, shown)) + rest, key.size(), limit);
}

} // namespace

void Engine::set_status(std::optional<std::string_view> status, std::source_location where) {
    history::CustomStatusUpdated update;
    std::string refusal;
    if (status) {
        update.status = std::string{*status};
        if (status->size() > limits_.custom_status_bytes) {
            refusal = over_limit("Custom status size", status->size(), limits_.custom_status_bytes);
        } else if (!is_utf8(*status)) {
            refusal = "the custom status must be UTF-8 text";
        }
    }
    const auto decided = decide(update, where, std::move(refusal));
    if (decided.id == 0) {
        return;
    }
    if (decided.recorded != nullptr) { // the recorded text counts
        update = std::get<history::CustomStatusUpdated>(decided.recorded->kind);
    }
    status_ = update.status ? std::make_unique<std::string>(*std::move(update.status)) : nullptr;
}

std::optional<std::string> Engine::status() const {
    return status_ ? std::optional{*status_} : std::nullopt;
}

std::string Engine::kv_key_refusal(std::string_view key) const {
    if (key.size() > limits_.kv_key_bytes) {
        return long_key(key, limits_.kv_key_bytes);
    }
    return is_utf8(key) ? std::string{} : "KV key '" + printable(key) + "' must be UTF-8 text";
}

// Every key of the instance counts: those of earlier turns and executions too (T-11).
std::string Engine::kv_refusal(std::string_view key, std::string_view value) const {
    const auto count = (kv_ ? kv_->size() : 0) + (kv_ && kv_->contains(key) ? 0U : 1U);
    if (key.size() > limits_.kv_key_bytes) {
        return long_key(key, limits_.kv_key_bytes);
    }
    if (value.size() > limits_.kv_value_bytes) {
        return over_limit(
            "KV value for key '" + printable(key) + "'", value.size(), limits_.kv_value_bytes);
    }
    if (count > limits_.kv_keys) {
        return "KV key count (" + std::to_string(count) + ") exceeds limit (" +
               std::to_string(limits_.kv_keys) + ")";
    }
    return is_utf8(key) && is_utf8(value)
               ? std::string{}
               : "KV key '" + printable(key) + "': key and value must be UTF-8 text";
}

void Engine::kv_set(std::string_view key,
                    std::string value,
                    detail::Recode recode,
                    std::source_location where) {
    const auto decided = decide({.kind = history::KeyValueSet{.key = std::string{key},
                                                              .value = value,
                                                              .last_updated_at_ms = now_ms_},
                                 .recode = recode},
                                where,
                                kv_refusal(key, value));
    if (decided.id == 0) {
        return;
    }
    KvEntry entry{.value = std::move(value), .last_updated_at_ms = now_ms_};
    if (decided.recorded != nullptr) {
        // The recorded time counts, so that prune() decides the same on every replay (T-10), and
        // the recorded text: it is what the store has, and what all() answered.
        const auto& recorded = std::get<history::KeyValueSet>(decided.recorded->kind);
        entry = {.value = recorded.value, .last_updated_at_ms = recorded.last_updated_at_ms};
    }
    if (!kv_) {
        kv_ = std::make_unique<KvSnapshot>();
    }
    kv_->insert_or_assign(std::string{key}, std::move(entry));
}

void Engine::kv_clear(std::string_view key, std::source_location where) {
    auto refusal = kv_key_refusal(key);
    if (!refusal.empty() && kv_find(key) != nullptr) {
        refusal.clear(); // an existing key may be cleared, whatever its text
    }
    const auto decided =
        decide(history::KeyValueCleared{.key = std::string{key}}, where, std::move(refusal));
    if (decided.id != 0 && kv_) {
        if (const auto found = kv_->find(key); found != kv_->end()) {
            kv_->erase(found);
        }
    }
}

void Engine::kv_clear_all(std::source_location where) {
    if (decide(history::KeyValuesCleared{}, where).id != 0) {
        kv_.reset();
    }
}

// In the order of keys: a hash map's order would differ from run to run (T-09).
std::size_t Engine::kv_prune(Instant before, std::source_location where) {
    if (!kv_known_) {
        read_unknown_kv("all keys");
    }
    std::vector<std::string> old;
    if (kv_) {
        for (const auto& [key, entry] : *kv_) {
            if (entry.last_updated_at_ms < to_epoch_ms(before)) {
                old.push_back(key);
            }
        }
    }
    for (const auto& key : old) {
        kv_clear(key, where);
    }
    return old.size();
}

const std::string* Engine::kv_find(std::string_view key) const {
    if (kv_) {
        if (const auto found = kv_->find(key); found != kv_->end()) {
            return &found->second.value;
        }
    }
    if (!kv_known_) {
        read_unknown_kv("'" + printable(key) + "'");
    }
    return nullptr;
}

void Engine::read_unknown_kv(std::string what) const {
    if (!unknown_kv_read_) {
        unknown_kv_read_ = std::make_unique<std::string>(std::move(what));
    }
}

std::map<std::string, std::string> Engine::kv_all() const {
    if (!kv_known_) {
        read_unknown_kv("all keys");
    }
    std::map<std::string, std::string> all;
    if (kv_) {
        for (const auto& [key, entry] : *kv_) {
            all.emplace_hint(all.end(), key, entry.value);
        }
    }
    return all;
}

bool Engine::patched(std::string_view id, std::source_location where) {
    record_dropped();
    if (spoiled()) {
        return false;
    }
    if (!is_utf8(id)) { // on every run: no marker can ever have been recorded
        give_up("patched(): the id must be UTF-8 text");
        return false;
    }
    if (replaying_) {
        skip_recorded_patches();
    }
    auto& patches = rare().patches;
    if (const auto known = patches.find(id); known != patches.end()) {
        return known->second;
    }
    // While replaying, a missing marker means that the old code went past here.
    const bool is_new =
        !replaying_ && decide(history::PatchMarked{.id = std::string{id}}, where).id != 0;
    patches.emplace(id, is_new);
    return is_new;
}

std::string Engine::new_uuid() {
    return derived_uuid({.instance = instance_,
                         .execution_id = execution_id_,
                         .started_at_ms = started_at_ms_,
                         .counter = ++uuids_});
}

void Engine::log(LogLevel level, std::string_view message, std::source_location where) {
    if (!replaying_ && turn_ != nullptr) {
        turn_->result.log.push_back({.level = level,
                                     .from_user = true,
                                     .message = std::string{message},
                                     .location = location_text(where)});
    }
}

const std::string& Engine::orchestration_name() const noexcept {
    return handler_->name;
}

const std::string& Engine::orchestration_version() const noexcept {
    return handler_->version_text;
}

} // namespace durable::replay
