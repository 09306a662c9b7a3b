// A durable name is written into histories and URLs: only plain characters.
// expect: name: 1-128 letters, digits, '_', '-', '.', ':'

#include "contracts.hpp"

using namespace sample;

constexpr durable::Activity<int(int)> right{"no_spaces"};
static_assert(right.name() == "no_spaces");

#ifdef MISTAKE
constexpr durable::Activity<int(int)> wrong{"no spaces allowed"};
#endif
