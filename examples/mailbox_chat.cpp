// A conversation: messages in through a mailbox, answers out through the custom status.

#include <durable/durable.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

constexpr durable::Queue<std::string> inbox{"Inbox"};
constexpr durable::Activity<std::string(std::string)> think{"Think"};
constexpr durable::Orchestration<std::string(int)> chat{"Chat"};

durable::Task<std::string> converse(durable::Context ctx, int turn) {
    const auto message = co_await ctx.dequeue(inbox);
    if (message == "bye") {
        co_return "after " + std::to_string(turn) + " answers";
    }
    const auto answer = co_await ctx.call(think, message);
    ctx.set_status(answer);
    co_return co_await ctx.continue_as_new(chat, turn + 1); // unread messages go to the next
                                                            // execution
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    registry.add(think, [](const std::string& text) { return "you said '" + text + "'"; });
    registry.add(chat, converse);
    const auto runtime = durable::Runtime::start(provider, registry);
    const durable::Client client{provider};

    const auto run = client.start(chat, 0, {.id = "chat-1"}).value();
    std::uint64_t seen = 0;
    for (const auto* text : {"hello", "how are you?"}) {
        client.enqueue("chat-1", inbox, text).value();
        const auto status = client.wait_for_status_change("chat-1", seen, 10s).value();
        seen = status.custom_status_version;
        std::cout << status.custom_status.value() << '\n';
    }
    client.enqueue("chat-1", inbox, "bye").value();
    std::cout << run.wait(10s).value() << '\n';
}
