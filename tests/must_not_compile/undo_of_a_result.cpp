// An undo also runs when there is no result: it takes durable::Undo, not the result.
// expect: an activity that undoes a call takes durable::Undo<input, result> of that call

#include "contracts.hpp"

constexpr durable::Activity<void(durable::Undo<std::string, std::string>)> forget{"Forget"};
inline constexpr durable::Activity<void(std::string)> forget_greeting{"ForgetGreeting"};

durable::Task<std::string> right(durable::Context ctx, std::string name) {
    co_return co_await ctx.call(sample::greet, name, durable::undo_with(forget));
}

#ifdef MISTAKE
void wrong() {
    durable::undo_with(forget_greeting);
}
#endif
