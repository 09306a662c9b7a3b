#include <durable/codec.hpp>
#include <durable/error_details.hpp>
#include <durable/result.hpp>

#include <gtest/gtest.h>

namespace durable {

namespace {

using details::Application;
using details::ApplicationKind;
using details::Configuration;
using details::Infrastructure;
using details::Poison;
using details::PoisonKind;

TEST(ErrorDetails, AnInfrastructureErrorNamesItsOperation) {
    EXPECT_EQ(display_text(Infrastructure{.operation = "ack", .message = "Database locked"}),
              "infrastructure:ack: Database locked");
}

TEST(ErrorDetails, AKindThatIsNoneIsRefused) {
    const auto no_kind = static_cast<ApplicationKind>(4);
    const auto no_poison = static_cast<PoisonKind>(3);

    for (const auto& encoded : {encode(ErrorDetails{Application{.kind = no_kind}}),
                                encode(ErrorDetails{Poison{.kind = no_poison}})}) {
        ASSERT_FALSE(encoded);
        EXPECT_EQ(encoded.error().code, ErrorCode::invalid_argument);
    }
}

TEST(ErrorDetails, AConfigurationErrorHasAMessageOrNamesItsResource) {
    EXPECT_EQ(
        display_text(Configuration{.resource = "Orch", .has_message = true, .message = "no match"}),
        "nondeterministic: no match");
    EXPECT_EQ(display_text(Configuration{.resource = "Orch", .has_message = true}),
              "nondeterministic: ");
    EXPECT_EQ(display_text(Configuration{.resource = "Orch"}), "nondeterministic in Orch");
}

TEST(ErrorDetails, AnApplicationErrorShowsWhatTheUserSaid) {
    EXPECT_EQ(
        display_text(Application{.kind = ApplicationKind::activity_failed, .message = "boom"}),
        "boom");
    EXPECT_EQ(
        display_text(Application{.kind = ApplicationKind::orchestration_failed, .message = "no"}),
        "no");
    EXPECT_EQ(display_text(Application{.kind = ApplicationKind::panicked, .message = "oops"}),
              "orchestration panicked: oops");
}

TEST(ErrorDetails, AnActivitysErrorShowsWhichItWas) {
    EXPECT_EQ(display_text(Application{.message = "boom", .activity = "Charge"}),
              "activity 'Charge' failed: boom");
    EXPECT_EQ(display_text(Application{.kind = ApplicationKind::orchestration_failed,
                                       .message = "boom",
                                       .activity = "Charge"}),
              "activity 'Charge' failed: boom");
}

TEST(ErrorDetails, ACancellationShowsItsReasonWithOneL) {
    EXPECT_EQ(display_text(Application{.kind = ApplicationKind::cancelled, .reason = "user"}),
              "canceled: user");
    EXPECT_EQ(display_text(Application{
                  .kind = ApplicationKind::cancelled, .reason = "user", .message = "and more"}),
              "canceled: user; and more");
}

TEST(ErrorDetails, APoisonErrorCountsItsAttempts) {
    Poison poison{.attempt_count = 11,
                  .max_attempts = 10,
                  .kind = PoisonKind::orchestration,
                  .instance = "order-1",
                  .execution_id = 1,
                  .activity_name = "Charge",
                  .activity_id = 2,
                  .error = "bad json",
                  .message = "[]"};
    EXPECT_EQ(display_text(poison), "poison: orchestration order-1 exceeded 10 attempts");

    poison.kind = PoisonKind::activity;
    EXPECT_EQ(display_text(poison), "poison: activity Charge#2 exceeded 10 attempts");

    poison.kind = PoisonKind::failed_deserialization;
    EXPECT_EQ(display_text(poison),
              "poison: orchestration order-1 history deserialization failed after 10 attempts: "
              "bad json");
}

TEST(ErrorDetails, APoisonErrorTellsItsCauseWhereItIsKnown) {
    Poison poison{.attempt_count = 4,
                  .max_attempts = 3,
                  .kind = PoisonKind::orchestration,
                  .instance = "order-1",
                  .activity_name = "Charge",
                  .activity_id = 2,
                  .message = "[]",
                  .cause = "no handler is registered"};
    EXPECT_EQ(display_text(poison),
              "poison: orchestration order-1 exceeded 3 attempts: no handler is registered");
    poison.kind = PoisonKind::activity;
    EXPECT_EQ(display_text(poison),
              "poison: activity Charge#2 exceeded 3 attempts: no handler is registered");
    EXPECT_EQ(decode_error_details(encode(ErrorDetails{poison}).value()).value(),
              ErrorDetails{poison});
}

TEST(ErrorDetails, EachHasAKindForCode) {
    EXPECT_EQ(kind_of(Infrastructure{}), failure_kind::infrastructure);
    EXPECT_EQ(kind_of(Configuration{}), failure_kind::configuration);
    EXPECT_EQ(kind_of(Poison{}), failure_kind::poison);
    EXPECT_EQ(kind_of(Application{.kind = ApplicationKind::cancelled}), failure_kind::cancelled);
    EXPECT_EQ(kind_of(Application{.failure_kind = "PaymentDeclined"}), "PaymentDeclined");
}

TEST(ErrorDetails, NameTheActivityThatFailed) {
    EXPECT_EQ(activity_of(Application{.activity = "Charge"}), "Charge");
    EXPECT_EQ(activity_of(Poison{.kind = PoisonKind::activity, .activity_name = "Charge"}),
              "Charge");
    EXPECT_EQ(activity_of(Application{}), "");
    EXPECT_EQ(activity_of(Infrastructure{}), "");
    EXPECT_EQ(activity_of(Configuration{}), "");
}

TEST(ErrorDetails, EachHasACategory) {
    EXPECT_EQ(category(Infrastructure{}), "infrastructure");
    EXPECT_EQ(category(Configuration{}), "configuration");
    EXPECT_EQ(category(Application{}), "application");
    EXPECT_EQ(category(Poison{}), "poison");
}

TEST(ErrorDetails, OnlyInfrastructureAndApplicationErrorsCanBeRetried) {
    EXPECT_TRUE(retryable(Infrastructure{.retryable = true}));
    EXPECT_FALSE(retryable(Infrastructure{.retryable = false}));
    EXPECT_TRUE(retryable(Application{.retryable = true}));
    EXPECT_FALSE(retryable(Application{.retryable = false}));
    EXPECT_FALSE(retryable(Configuration{}));
    EXPECT_FALSE(retryable(Poison{}));
}

} // namespace

} // namespace durable
