// Members that a later version wrote and this one does not know: kept when read, written again.

#pragma once

#include "model/json_reader.hpp"
#include "model/json_writer.hpp"

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace durable::wire {

// Keeps members that this version does not know in `extra`, token by token but without white space:
// an encoded value is always one line.
class UnknownMembers {
 public:
    explicit UnknownMembers(std::string& extra) : extra_{extra} {}

    void keep(JsonReader& in, const JsonName& name);
    // After the object: fails when two unknown members have the same name.
    void finish(JsonReader& in);

 private:
    struct Met {
        std::string name;
        std::size_t offset;
        auto operator<=>(const Met&) const = default;
    };
    std::string& extra_;
    std::vector<Met> met_;
};

// Writes `,extra`. Refuses text that reading would not give back as it is: no list of members,
// white space, a member twice, or one that `is_known`.
void write_extra(JsonWriter& out, std::string_view extra, bool (*is_known)(std::string_view name));

} // namespace durable::wire
