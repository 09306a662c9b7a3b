// Text decides how much memory it gets: never more than a fixed multiple of its own size, so that a
// short text cannot ask for a long string.

#include "fuzz/allocation_count.hpp"
#include "fuzz/mutator.hpp"

#include <durable/codec.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace durable::fuzz {

namespace {

// Bytes that all three decoders ask for, failed or not.
std::size_t bytes_to_decode(std::string_view text) {
    const std::size_t before = allocated_bytes();
    [[maybe_unused]] const auto event = decode_event(text);
    [[maybe_unused]] const auto item = decode_work_item(text);
    [[maybe_unused]] const auto error = decode_error_details(text);
    return allocated_bytes() - before;
}

std::size_t most_for(std::string_view text) {
    return 64 * text.size() + 4096;
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t done = 0; done < times; ++done) {
        all += text;
    }
    return all;
}

TEST(CodecAllocation, IsBoundByTheTextForShortElements) {
    const std::string pairs =
        R"({"ContinueAsNew":{"carry_forward_events":[)" + repeated(R"(["",""],)", 100'000);
    const std::string members = R"({"CancelInstance":{)" + repeated(R"("":0,)", 100'000);

    EXPECT_LE(bytes_to_decode(pairs), most_for(pairs));
    EXPECT_LE(bytes_to_decode(members), most_for(members));
}

TEST(CodecAllocation, IsBoundByTheTextForMutations) {
    const std::string event =
        R"({"event_id":1,"source_event_id":2,"instance_id":"\u00e9","execution_id":1,)"
        R"("timestamp_ms":5,"duroxide_version":"0.1.0","type":"OrchestrationStarted","name":"n",)"
        R"("version":"1","input":"\ud83d\ude00","carry_forward_events":[["a","b"]],"later":[{}]})";
    Mutator mutator{{event}, 7};

    for (int index = 0; index < 10'000; ++index) {
        const std::string text = mutator.next();
        ASSERT_LE(bytes_to_decode(text), most_for(text)) << text;
    }
}

TEST(CodecAllocation, AShortEventNeedsNoneButForItsLongStrings) {
    const std::string text =
        R"({"event_id":1,"source_event_id":2,"instance_id":"order-1","execution_id":1,)"
        R"("timestamp_ms":5,"duroxide_version":"0.1.0","type":"ActivityCompleted",)"
        R"("result":"fifteen bytes !"})";

    const std::size_t before = allocated_bytes();
    const auto event = decode_event(text);
    const std::size_t after = allocated_bytes();

    EXPECT_TRUE(event);
    EXPECT_EQ(after - before, 0U);
}

} // namespace

} // namespace durable::fuzz
