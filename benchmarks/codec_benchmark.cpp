// Encodes and decodes one event of 300 bytes, with our codec and with nlohmann-json. The payload is
// itself JSON, as real payloads are, so every quote in it is escaped. `Plain` has no escapes.

#include <durable/codec.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <variant>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

namespace {

using durable::HistoryEvent;

constexpr std::size_t event_size = 300;

HistoryEvent event_with(std::string result) {
    HistoryEvent event;
    event.event_id = 7;
    event.source_event_id = 3;
    event.instance_id = "order-123";
    event.execution_id = 1;
    event.timestamp_ms = 1760000000000;
    event.engine_version = "0.1.0";
    event.kind = durable::history::ActivityCompleted{.result = std::move(result)};
    return event;
}

// Pads the payload so that the event has exactly 300 bytes on the wire.
HistoryEvent padded(HistoryEvent event) {
    auto& result = std::get<durable::history::ActivityCompleted>(event.kind).result;
    result.append(event_size - encode(event).value().size(), ' ');
    return event;
}

const HistoryEvent escaped_event = padded(event_with(
    R"({"orderId":123,"status":"charged","receipt":"rcpt_8fa7","amount":12.5,"currency":"EUR"})"));
const HistoryEvent plain_event = padded(event_with(std::string(85, 'x')));

nlohmann::json to_json(const HistoryEvent& event) {
    return {{"event_id", event.event_id},
            {"source_event_id", *event.source_event_id},
            {"instance_id", event.instance_id},
            {"execution_id", event.execution_id},
            {"timestamp_ms", event.timestamp_ms},
            {"duroxide_version", event.engine_version},
            {"type", durable::type_name(event.kind)},
            {"result", std::get<durable::history::ActivityCompleted>(event.kind).result}};
}

HistoryEvent from_json(const nlohmann::json& json) {
    HistoryEvent event = event_with(json.at("result").get<std::string>());
    json.at("event_id").get_to(event.event_id);
    event.source_event_id = json.at("source_event_id").get<std::uint64_t>();
    json.at("instance_id").get_to(event.instance_id);
    json.at("execution_id").get_to(event.execution_id);
    json.at("timestamp_ms").get_to(event.timestamp_ms);
    json.at("duroxide_version").get_to(event.engine_version);
    if (json.at("type").get_ref<const std::string&>() != "ActivityCompleted") {
        std::abort();
    }
    return event;
}

void encode(benchmark::State& state, const HistoryEvent& event) {
    std::string out;
    for (auto _ : state) {
        out.clear();
        benchmark::DoNotOptimize(durable::encode_to(out, event));
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(event_size));
}

void decode(benchmark::State& state, const HistoryEvent& event) {
    const std::string text = durable::encode(event).value();
    for (auto _ : state) {
        benchmark::DoNotOptimize(durable::decode_event(text));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(event_size));
}

void nlohmann_encode(benchmark::State& state, const HistoryEvent& event) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(to_json(event).dump());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(event_size));
}

void nlohmann_decode(benchmark::State& state, const HistoryEvent& event) {
    const std::string text = durable::encode(event).value();
    for (auto _ : state) {
        benchmark::DoNotOptimize(from_json(nlohmann::json::parse(text)));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(event_size));
}

BENCHMARK_CAPTURE(encode, escaped, escaped_event);
BENCHMARK_CAPTURE(encode, plain, plain_event);
BENCHMARK_CAPTURE(nlohmann_encode, escaped, escaped_event);
BENCHMARK_CAPTURE(decode, escaped, escaped_event);
BENCHMARK_CAPTURE(decode, plain, plain_event);
BENCHMARK_CAPTURE(nlohmann_decode, escaped, escaped_event);

} // namespace

BENCHMARK_MAIN();
