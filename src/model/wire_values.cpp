#include "model/wire_values.hpp"

#include <cstddef>
#include <utility>

namespace durable::wire {

void write_value(JsonWriter& out,
                 const std::vector<CarriedMessage>& messages,
                 std::string_view member) {
    out.literal("[");
    for (std::size_t index = 0; index < messages.size(); ++index) {
        out.token(index == 0 ? std::string_view{"["} : std::string_view{",["});
        out.string(messages[index].name, member);
        out.literal(",");
        out.string(messages[index].data, member);
        out.literal("]");
    }
    out.literal("]");
}

void read_value(JsonReader& in, std::vector<CarriedMessage>& messages) {
    in.array([&] {
        CarriedMessage message;
        std::size_t strings = 0;
        const std::size_t start = in.offset();
        in.array([&] {
            if (strings < 2) {
                in.string(strings == 0 ? message.name : message.data);
            } else {
                in.skip();
            }
            ++strings;
        });
        if (strings != 2) {
            in.fail_at(start, "expected two strings, a name and data");
        }
        messages.push_back(std::move(message));
    });
}

} // namespace durable::wire
