// Queue rows as JSON members: what journal records and checkpoints have in common.

#pragma once

#include "providers/fs/format/json_object.hpp"
#include "providers/ledger/record.hpp"

#include <durable/version.hpp>

#include <optional>
#include <string_view>

namespace durable::fs {

// `at` and `instance` are the defaults of visible_at and of the instance: equal values are not
// written, and reading fills them in. Only rows of checkpoints have attempts and times of hiding.
void write_message(ObjectWriter& members,
                   const ledger::NewMessage& message,
                   Instant at,
                   std::string_view instance);
void write_work(ObjectWriter& members,
                const ledger::NewWork& work,
                Instant at,
                std::string_view instance);

void read_message(wire::JsonReader& in,
                  ledger::NewMessage& message,
                  Instant at,
                  std::string_view instance,
                  std::uint32_t* attempts = nullptr,
                  Instant* hidden_until = nullptr);
void read_work(wire::JsonReader& in,
               ledger::NewWork& work,
               Instant at,
               std::string_view instance,
               std::uint32_t* attempts = nullptr);

[[nodiscard]] std::string_view name_of(ledger::Queue queue) noexcept;
void read_queue(wire::JsonReader& in, ledger::Queue& queue);
void read_version(wire::JsonReader& in, std::optional<Version>& version);

} // namespace durable::fs
