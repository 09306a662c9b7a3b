// Shorthand for the texts of events: what nearly every event repeats takes one byte in memory.
//
// Every text decodes to what was encoded. JSON has no raw control characters, so these stand for
// the words. A damaged text that contains some is stored with escapes.

#pragma once

#include <string>
#include <string_view>

namespace durable::ledger {

void append_shorthand(std::string& out, std::string_view text);
void append_expanded(std::string& out, std::string_view shorthand);

} // namespace durable::ledger
