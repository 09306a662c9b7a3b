// The rules for names, ids and versions that programs give: the same for clients and for
// orchestrations. docs/architecture.md, "Names", says them to users.
//
// A store accepts any text; these rules are the API's. An id that an engine derives from its
// parent's may be longer than one that a program gives.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace durable {

inline constexpr std::size_t longest_given_id = 512;

// Each answers what is wrong, as a sentence; empty when nothing is.

// Of an id that begins something: the start of an instance, a child, a detached orchestration.
[[nodiscard]] std::string given_id_problem(std::string_view id);
// Of an id that names something that exists: it may be a derived one.
[[nodiscard]] std::string id_problem(std::string_view id);
[[nodiscard]] std::string version_problem(std::string_view version);

// "order-7/1/4": of a call, by the step of its first attempt. See ActivityContext.
[[nodiscard]] std::string
idempotency_key(std::string_view instance, std::uint64_t execution_id, std::uint64_t call_id);

} // namespace durable
