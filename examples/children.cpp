// Child orchestrations: called like activities, with a history of their own.

#include <durable/durable.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

constexpr durable::Activity<int(std::string)> count_words{"CountWords"};
constexpr durable::Orchestration<int(std::string)> chapter{"Chapter"};
constexpr durable::Orchestration<int(int)> novel{"Novel"};

durable::Task<int> read_chapter(durable::Context ctx, std::string text) {
    co_return co_await ctx.call(count_words, text);
}

durable::Task<int> read_novel(durable::Context ctx, int chapters) {
    std::vector<durable::Operation<int>> parts;
    for (int i = 0; i < chapters; ++i) {
        const auto id = ctx.instance() + "-chapter-" + std::to_string(i);
        parts.push_back(ctx.call(chapter, "it was a dark night", {.id = id}));
    }
    const auto counts = co_await durable::all{std::move(parts)};
    int sum = 0;
    for (const int count : counts) {
        sum += count;
    }
    co_return sum;
}

int main() {
    const auto provider = durable::memory::open();
    durable::Registry registry;
    registry.add(count_words, [](const std::string& text) {
        return 1 + static_cast<int>(std::ranges::count(text, ' '));
    });
    registry.add(chapter, read_chapter);
    registry.add(novel, read_novel);
    const auto runtime = durable::Runtime::start(provider, registry);
    const durable::Client client{provider};

    const auto run = client.start(novel, 4, {.id = "novel"}).value();
    std::cout << run.wait(10s).value() << " words\n";
    const auto found = client.management().value().children("novel").value();
    for (const auto& id : found) {
        std::cout << "  " << id << '\n';
    }
}
