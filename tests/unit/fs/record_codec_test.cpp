// Journal records as JSON: nothing is lost, and what was not written by us is refused.

#include "providers/fs/format/record_codec.hpp"
#include "unit/fs/random_records.hpp"

#include <durable/codec.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace durable::fs {
namespace {

using ledger::Record;

std::string json_of(const Record& record) {
    std::string out = "{";
    EXPECT_TRUE(encode_members(out, record));
    return out + "}";
}

TEST(RecordCodecTest, EveryRecordComesBackAsItWas) {
    RandomRecords records{1};
    for (int i = 0; i < 20'000; ++i) {
        const auto record = records.next();
        const auto json = json_of(record);
        const auto back = decode_record(json);
        ASSERT_TRUE(back) << back.error().text() << "\n" << json;
        ASSERT_TRUE(*back == record) << json << "\n" << json_of(*back);
    }
}

TEST(RecordCodecTest, EveryRecordIsOneLine) {
    RandomRecords records{2};
    for (int i = 0; i < 5'000; ++i) {
        const auto json = json_of(records.next());
        ASSERT_EQ(json.find('\n'), std::string::npos) << json;
    }
}

// Readable with any tool: events and messages are JSON in JSON, not text in JSON.
TEST(RecordCodecTest, AnyJsonParserReadsIt) {
    const Record record{
        .at = from_epoch_ms(1'760'000'000'000),
        .operation = ledger::op::CommitTurn{
            .instance = "order-1",
            .execution_id = 1,
            .consumed = {7},
            .metadata = {.status = ExecutionStatus::completed, .output = "\"done\""},
            .events = {{3,
                        R"({"event_id":3,"type":"OrchestrationCompleted","output":"\"done\""})"}},
            .messages = {{.seq = 8,
                          .instance = "parent",
                          .visible_at = from_epoch_ms(1'760'000'000'000),
                          .text = R"({"SubOrchCompleted":{"parent_instance":"parent"}})",
                          .kind = 8}}}};

    const auto json = json_of(record);

    EXPECT_EQ(
        json,
        R"({"at":1760000000000,"op":"commit_turn","instance":"order-1","execution":1,)"
        R"("consumed":[7],"status":"Completed","output":"\"done\"",)"
        R"("events":[[3,{"event_id":3,"type":"OrchestrationCompleted","output":"\"done\""}]],)"
        R"("messages":[{"seq":8,"instance":"parent","kind":"SubOrchCompleted",)"
        R"("item":{"SubOrchCompleted":{"parent_instance":"parent"}}}]})");
    EXPECT_EQ(nlohmann::json::parse(json)["events"][0][1]["event_id"], 3);
}

TEST(RecordCodecTest, AnIdThatIsNotUtf8IsRefusedAndLeavesNothing) {
    std::string out = "before";

    const auto encoded =
        encode_members(out, {.at = {}, .operation = ledger::op::Delete{.instances = {"\xff"}}});

    EXPECT_EQ(encoded.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(out, "before");
}

TEST(RecordCodecTest, WhatWasNotWrittenByUsIsRefused) {
    for (const std::string json : {"",
                                   "{",
                                   "[]",
                                   R"({"at":1,"op":"unheard of"})",
                                   R"({"at":1,"op":"fetch_work","seq":-1})",
                                   R"({"at":1,"op":"fetch_work","seq":1,"more":2})",
                                   R"({"at":1,"op":"fetch_work","seq":1}x)",
                                   R"({"seq":1,"at":1,"op":"fetch_work"})",
                                   R"({"at":1,"op":"commit_turn","events":[[1,{]]})",
                                   R"({"at":1,"op":"commit_turn","status":"Sleeping"})",
                                   R"({"at":1,"op":"quarantine","queue":"other"})",
                                   R"({"at":1,"op":"commit_turn","kv":[{"do":"eat"}]})",
                                   R"({"at":1,"op":"append","events":[[1,["0g"]]]})",
                                   R"({"at":1,"op":"enqueue_message","message":{"kind":"X"}})"}) {
        const auto record = decode_record(json);
        ASSERT_FALSE(record) << json;
        EXPECT_EQ(record.error().code, ErrorCode::corrupt) << json;
    }
}

} // namespace
} // namespace durable::fs
