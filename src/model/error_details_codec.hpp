// ErrorDetails inside events and work items.

#pragma once

#include "model/json_reader.hpp"
#include "model/json_writer.hpp"

#include <durable/error_details.hpp>

#include <string_view>

namespace durable::wire {

void write_value(JsonWriter& out, const ErrorDetails& details, std::string_view member);
void read_value(JsonReader& in, ErrorDetails& details);

} // namespace durable::wire
