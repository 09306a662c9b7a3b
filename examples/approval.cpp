// Human approval: ask, remind, give up. The orchestration may wait for days; it costs no thread.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

struct Approval {
    bool granted = false;
    std::string by;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Approval, granted, by)

constexpr durable::Event<Approval> approval{"Approval"};
constexpr durable::Activity<void(std::string)> notify_manager{"NotifyManager"};
constexpr durable::Orchestration<std::string(std::string)> expense{"Expense"};

durable::Task<std::string> ask_for_approval(durable::Context ctx, std::string what) {
    for (int reminder = 0; reminder < 3; ++reminder) {
        co_await ctx.call(notify_manager, what);
        const auto answer = co_await ctx.within(24h, ctx.wait_for(approval));
        if (answer) {
            co_return (answer->granted ? "approved by " : "rejected by ") + answer->by;
        }
    }
    co_return "expired";
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    registry.add(notify_manager,
                 [](const std::string& what) { std::cout << "please approve: " + what + '\n'; });
    registry.add(expense, ask_for_approval);
    const auto runtime = durable::Runtime::start(provider, registry);
    const durable::Client client{provider};

    const auto run = client.start(expense, "a new chair", {.id = "expense-7"}).value();
    client.raise("expense-7", approval, {.granted = true, .by = "ana"}).value();

    std::cout << run.wait(10s).value() << '\n';
}
