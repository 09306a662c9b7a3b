// Shorthand for the texts of events: what nearly every event repeats takes one byte in memory.
//
// Any text survives the way there and back. JSON has no raw control characters, so these stand for
// the words; a text that has some all the same, a damaged one, is stored with escapes.

#pragma once

#include <string>
#include <string_view>

namespace durable::ledger {

void append_shorthand(std::string& out, std::string_view text);
void append_expanded(std::string& out, std::string_view shorthand);

} // namespace durable::ledger
