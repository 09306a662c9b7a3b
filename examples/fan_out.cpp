// Fan-out, fan-in: many activities at once, results in the order of the calls.

#include <durable/durable.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

constexpr durable::Activity<std::string(std::string)> fetch_email{"FetchEmail"};
constexpr durable::Orchestration<std::string(int)> collect{"Collect"};

durable::Task<std::string> collect_emails(durable::Context ctx, int users) {
    std::vector<durable::Operation<std::string>> lookups;
    for (int user = 1; user <= users; ++user) {
        const auto name = "user" + std::to_string(user);
        lookups.push_back(ctx.call(fetch_email, name, {.retry = {.max_attempts = 3}}));
    }
    const auto emails = co_await durable::all{std::move(lookups)};
    std::string list;
    for (const auto& email : emails) {
        list += email + '\n';
    }
    co_return list;
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    registry.add(fetch_email, [](const std::string& user) { return user + "@example.org"; });
    registry.add(collect, collect_emails);
    const auto runtime = durable::Runtime::start(provider, registry);

    const auto run = durable::Client{provider}.start(collect, 5).value();
    std::cout << run.wait(10s).value();
}
