// Images and closing records as JSON: nothing is lost.

#include "providers/fs/format/close_codec.hpp"
#include "providers/fs/format/image_codec.hpp"
#include "unit/fs/random_records.hpp"

#include <string>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using ledger::InstanceImage;

InstanceImage random_image(RandomRecords& random) {
    InstanceImage image{
        .id = random.text(), .incarnation = random.number(), .revision = random.number()};
    if (random.coin()) {
        image.row = ledger::RowImage{.number = random.number(),
                                     .name = random.text(),
                                     .version = random.text(),
                                     .parent = random.maybe_text(),
                                     .created_at = random.instant(),
                                     .updated_at = random.instant(),
                                     .current_execution = random.number()};
    }
    for (std::uint64_t id = 1; id < 1 + random.number() % 4; ++id) {
        auto& execution = image.executions.emplace_back();
        execution.id = id;
        if (random.coin()) {
            execution.recorded = true;
            execution.status = ExecutionStatus::failed;
            execution.started_at = random.instant();
            execution.completed_at = random.instant();
            execution.output = random.maybe_text();
            execution.pinned = Version{1, 2, 3};
        }
        for (std::uint64_t event = 1; event < 1 + random.number() % 5; ++event) {
            execution.history.append(event, random.raw());
        }
    }
    if (random.coin()) {
        image.custom_status = {.status = random.maybe_text(), .version = 1 + random.number() / 2};
        image.kv[random.text()] = {.value = random.text(), .last_updated_at_ms = random.number()};
        image.kv_changes[random.text()] = {random.maybe_text(), random.number()};
        image.hidden_until = random.instant();
        image.messages.push_back({random.message(), 3});
        image.work.push_back({random.work(), 0});
    }
    return image;
}

TEST(ImageCodecTest, EveryImageComesBackAsItWas) {
    RandomRecords random{5};
    for (int i = 0; i < 5'000; ++i) {
        const auto image = random_image(random);
        std::string json;
        ASSERT_TRUE(encode_image(json, image));
        ASSERT_EQ(json.find('\n'), std::string::npos);
        const auto back = decode_image(json);
        ASSERT_TRUE(back) << back.error().text() << "\n" << json;
        ASSERT_TRUE(*back == image) << json;
    }
}

TEST(ImageCodecTest, TheRestComesBackAsItWas) {
    const ledger::RestImage rest{
        .next_seq = 5,
        .next_number = 6,
        .next_incarnation = 7,
        .revision = 8,
        .expired_total = 9,
        .quarantine = {{.id = 1,
                        .queue = "worker",
                        .instance = "a",
                        .text = "\xff",
                        .reason = "not UTF-8",
                        .quarantined_at = from_epoch_ms(3)}},
        .expired = {
            {.id = 2, .queue = "orchestrator", .instance = {}, .text = "{}", .reason = ""}}};
    std::string json;

    ASSERT_TRUE(encode_rest(json, rest));
    const auto back = decode_rest(json);

    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->next_seq, rest.next_seq);
    EXPECT_EQ(back->revision, rest.revision);
    EXPECT_EQ(back->quarantine.at(0).text, "\xff");
    EXPECT_EQ(back->expired.at(0).instance, std::nullopt);
}

TEST(ImageCodecTest, AClosingRecordComesBackAsItWas) {
    using namespace std::chrono_literals;
    const Close close{
        .at = from_epoch_ms(7),
        .handover = {.turns = {{"a", "token", 5s, {1, 2}}},
                     .activities = {{9, "other", 0s}},
                     .sessions = {{"s", "owner", 1s, 2s, 0s}, {"t", "owner", 0s, 5s, 3s}}}};
    std::string json = "{\"lsn\":9,\"synced\":8,";

    ASSERT_TRUE(encode_members(json, close));
    json += "}";
    const auto back = decode_close(json);

    EXPECT_TRUE(is_close(json));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(*back == close) << json;
}

} // namespace
} // namespace durable::fs
