// A member that cannot be written is named in one sentence, whatever its struct is used for.
// expect alone: a part of a payload is no payload: write DURABLE_PAYLOAD(Type, members...) below
// expect at most: 40 lines

#include "contracts.hpp"

namespace sample {

struct Range {
    int from = 0;
    int to = 0;
};
DURABLE_PAYLOAD(Range, from, to)

struct Right {
    std::optional<Range> range;
};
DURABLE_PAYLOAD(Right, range)
inline constexpr durable::Activity<int(Right)> right{"Right"};

#ifdef MISTAKE
struct Handle {
    int number = 0;
};
struct Wrong {
    int index = 0;
    std::optional<Handle> handle;
};
DURABLE_PAYLOAD(Wrong, index, handle)
inline constexpr durable::Activity<int(Wrong)> wrong{"Wrong"};
#endif

} // namespace sample
