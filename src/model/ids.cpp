#include "model/ids.hpp"

#include "base/utf8.hpp"

#include <durable/version.hpp>

namespace durable {

namespace {

std::string quoted(std::string_view text) {
    std::string out{"'"};
    utf8::append_one_line(out, text.substr(0, 64));
    return out + (text.size() > 64 ? "...'" : "'");
}

bool is_derived(std::string_view id) noexcept {
    return id.starts_with("sub::") || id.contains("::sub::") || id.contains("::detached::");
}

std::string text_problem(std::string_view id) {
    if (id.empty()) {
        return "an instance id must not be empty";
    }
    if (!utf8::is_utf8(id)) {
        return "an instance id is UTF-8 text: " + quoted(id);
    }
    if (utf8::has_control(id)) {
        return "an instance id has no control characters: " + quoted(id);
    }
    return {};
}

std::string length_problem(std::string_view id) {
    return id.size() <= longest_given_id
               ? std::string{}
               : "an instance id has at most " + std::to_string(longest_given_id) + " bytes, not " +
                     std::to_string(id.size());
}

} // namespace

std::string given_id_problem(std::string_view id) {
    auto problem = text_problem(id);
    if (problem.empty()) {
        problem = length_problem(id);
    }
    if (problem.empty() && is_derived(id)) {
        problem =
            "'sub::' and '::detached::' in an instance id are the library's own: " + quoted(id);
    }
    return problem;
}

std::string id_problem(std::string_view id) {
    auto problem = text_problem(id);
    return problem.empty() && !is_derived(id) ? length_problem(id) : problem;
}

std::string version_problem(std::string_view version) {
    return Version::parse(version)
               ? std::string{}
               : "not a version: " + quoted(version) + ", expected three numbers, like 1.2.3";
}

std::string
idempotency_key(std::string_view instance, std::uint64_t execution_id, std::uint64_t call_id) {
    return std::string{instance} + '/' + std::to_string(execution_id) + '/' +
           std::to_string(call_id);
}

} // namespace durable
