// The key-value store of an instance: survives continue-as-new, readable from outside.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Queue<int> deposits{"Deposits"};
constexpr durable::Orchestration<int(int)> account{"Account"};

durable::Task<int> keep_account(durable::Context ctx, int left) {
    const int amount = co_await ctx.dequeue(deposits);
    const int balance = ctx.kv().get<int>("balance").value_or(0) + amount;
    ctx.kv().set("balance", balance);
    if (left == 1) {
        co_return balance;
    }
    co_return co_await ctx.continue_as_new(account, left - 1);
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    registry.add(account, keep_account);
    const auto runtime = durable::Runtime::start(provider, registry);
    const durable::Client client{provider};

    const auto run = client.start(account, 3, {.id = "account-1"}).value();
    for (const int amount : {10, 20, 12}) {
        client.enqueue("account-1", deposits, amount).value();
    }

    std::cout << "first balance seen: "
              << (client.wait_for_kv<int>("account-1", "balance", 10s).value() > 0) << '\n';
    std::cout << "final balance: " << run.wait(10s).value() << '\n';
}
