// Records of every kind with random content, for tests of what must keep all of it.

#pragma once

#include "providers/ledger/queueing.hpp"
#include "providers/ledger/record.hpp"

#include <random>
#include <string>
#include <vector>

namespace durable::fs {

class RandomRecords {
 public:
    explicit RandomRecords(std::uint64_t seed) : random_{seed} {}

    ledger::Record next() {
        return {.at = instant(), .operation = operation(std::make_index_sequence<kinds>{})};
    }

    std::uint64_t number() { return random_() >> (random_() % 64); }
    bool coin() { return random_() % 2 == 0; }

    // Any valid text: plain, with all kinds of escapes, with characters of several bytes.
    std::string text() {
        static const std::vector<std::string> samples{"",
                                                      "a",
                                                      "order-17",
                                                      "..",
                                                      "a/b",
                                                      "line\nend",
                                                      "\"quoted\"",
                                                      "back\\slash",
                                                      "Ä",
                                                      "日本語",
                                                      std::string{"\0", 1},
                                                      "{\"json\":1}",
                                                      "parent::sub::2",
                                                      std::string(300, 'x'),
                                                      "\x7f"};
        return samples[random_() % samples.size()] + (coin() ? "" : std::to_string(number()));
    }

    // What a store may hold: usually an object, but damage can be anything.
    std::string raw() {
        static const std::vector<std::string> samples{
            R"({"ActivityCompleted":{"instance":"a","result":"{\"x\":[1,2]}"}})",
            R"({"a":"\"}{"})",
            "{}",
            "{",
            "}",
            "",
            "{\"event_id\": damaged",
            "{\n}",
            "\xff\xfe",
            "null",
            "{}{}",
            "{\"open\":\"",
            "[1]",
            "\"text\"",
            "{\"deep\":" + nested(200) + "}"};
        return samples[random_() % samples.size()];
    }

    ledger::NewMessage message() {
        const bool timer = coin();
        return {.seq = number(),
                .instance = text(),
                .visible_at = instant(),
                .text = raw(),
                .kind = static_cast<std::uint8_t>(random_() % std::variant_size_v<WorkItem>),
                .execution_id = timer ? number() : 0,
                .timer_id = timer ? number() : 0};
    }

    ledger::NewWork work() {
        auto item = raw();
        return {.seq = number(),
                .activity = {text(), number(), number()},
                .session = maybe_text(),
                .tag = maybe_text(),
                .name = ledger::activity_name(item),
                .visible_at = instant(),
                .text = std::move(item)};
    }

    Instant instant() { return from_epoch_ms(coin() ? 1'760'000'000'000 : number() / 2); }
    std::optional<std::string> maybe_text() {
        return coin() ? std::optional{text()} : std::nullopt;
    }

 private:
    static constexpr std::size_t kinds = std::variant_size_v<ledger::Operation>;
    template <class T>
    using Many = std::vector<T>;

    static std::string nested(int depth) {
        std::string text = "1";
        for (int i = 0; i < depth; ++i) {
            text = "[" + text + "]";
        }
        return text;
    }

    template <class Make>
    auto many(Make make) {
        std::vector<decltype(make())> made;
        for (auto count = random_() % 4; count > 0; --count) {
            made.push_back(make());
        }
        return made;
    }
    std::vector<std::uint64_t> numbers() {
        return many([this] { return number(); });
    }
    std::vector<ledger::NewEvent> events() {
        return many([this] { return ledger::NewEvent{number(), raw()}; });
    }
    ledger::KvChange kv() {
        switch (random_() % 3) {
        case 0:
            return {ledger::KvChange::Kind::set, text(), text(), number()};
        case 1:
            return {ledger::KvChange::Kind::clear, text(), "", number()};
        default:
            return {ledger::KvChange::Kind::clear_all, "", "", number()};
        }
    }
    ExecutionMetadata metadata() {
        ExecutionMetadata made{.output = maybe_text(),
                               .orchestration_name = maybe_text(),
                               .orchestration_version = maybe_text(),
                               .parent_instance_id = maybe_text()};
        if (coin()) {
            made.status = static_cast<ExecutionStatus>(random_() % 4);
        }
        if (coin()) {
            made.pinned_version = Version{number(), number(), number()};
        }
        return made;
    }
    ledger::Queue queue() { return coin() ? ledger::Queue::orchestrator : ledger::Queue::worker; }

    void fill(ledger::op::EnqueueMessage& made) { made.message = message(); }
    void fill(ledger::op::EnqueueWork& made) { made.work = work(); }
    void fill(ledger::op::FetchTurn& made) { made = {text(), numbers()}; }
    void fill(ledger::op::FetchWork& made) { made = {number()}; }
    void fill(ledger::op::CommitTurn& made) {
        made.instance = text();
        made.execution_id = number();
        made.consumed = numbers();
        made.metadata = metadata();
        made.events = events();
        if (coin()) {
            made.custom_status = ledger::StatusChange{maybe_text()};
        }
        made.kv = many([this] { return kv(); });
        made.work = many([this] { return work(); });
        made.cancelled_work = numbers();
        made.messages = many([this] { return message(); });
        made.cancelled_messages = numbers();
    }
    void fill(ledger::op::AbandonTurn& made) {
        made = {text(),
                coin() ? std::optional{instant()} : std::nullopt,
                numbers(),
                coin() ? std::optional{instant()} : std::nullopt,
                numbers(),
                maybe_text()};
    }
    void fill(ledger::op::StartInstance& made) { made = {message(), text(), text(), maybe_text()}; }
    void fill(ledger::op::FinishWork& made) {
        made = {number(), coin() ? std::optional{message()} : std::nullopt};
    }
    void fill(ledger::op::AbandonWork& made) { made = {number(), instant(), coin()}; }
    void fill(ledger::op::Append& made) { made = {text(), number(), events()}; }
    void fill(ledger::op::Delete& made) {
        made = {many([this] { return text(); }), numbers(), many([this] {
                    return ledger::op::Delete::Kept{message(),
                                                    static_cast<std::uint32_t>(number())};
                })};
    }
    void fill(ledger::op::Prune& made) { made = {text(), numbers()}; }
    void fill(ledger::op::Expire& made) { made = {numbers()}; }
    void fill(ledger::op::Quarantine& made) { made = {queue(), number(), text()}; }
    void fill(ledger::op::QuarantineText& made) {
        made = {queue(), number(), maybe_text(), raw(), text()};
    }

    template <std::size_t... Index>
    ledger::Operation operation(std::index_sequence<Index...>) {
        ledger::Operation made;
        const auto chosen = random_() % kinds;
        ((chosen == Index ? fill(made.emplace<Index>()) : void()), ...);
        return made;
    }

    std::mt19937_64 random_;
};

} // namespace durable::fs
